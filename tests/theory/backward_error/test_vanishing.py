"""What is zero everywhere, what is not, and what cannot be decided."""

from collections.abc import Mapping

import sympy as sp

from initmem.theory.backward_error.objective import is_gradient, potential
from initmem.theory.backward_error.vanishing import everywhere, vanishes

X, Y, U, W = sp.symbols("x y u w", real=True)


def test_polynomials_too_long_to_expand_are_decided() -> None:
    long = (X + Y + U + W + 1) ** 60
    assert vanishes((X + Y + U + W + 1) ** 30 * (X + Y + U + W + 1) ** 30 * (X + 1) - long * X - long)
    assert not vanishes(long - (X + Y + U + W + 1) ** 59 * (X + Y + U + W))
    assert vanishes((((X + 1) ** 64 + 1) ** 64) - ((1 + (X + 1) ** 64) ** 32) ** 2)
    # A coefficient of 1e-300 counts.
    assert not vanishes((X + Y) ** 2 - X**2 - Y**2 - 2 * X * Y + Y / 10**300)


def test_gradients_too_long_to_expand_are_recognised() -> None:
    base = (X + Y + U * W + 1) ** 60
    field = [-sp.diff(base, v) for v in (X, Y, U, W)]
    assert is_gradient(field, [X, Y, U, W]) is True
    assert is_gradient([*field[:3], 2 * field[3]], [X, Y, U, W]) is False
    assert is_gradient([Y / (X**2 + Y**2), -X / (X**2 + Y**2)], [X, Y]) is True


def test_far_from_its_domain_nothing_is_decided() -> None:
    root = sp.sqrt(X**2 - 400)
    field = [-X / root, -2 * Y]
    assert vanishes(root**3 - root * X**2 + 400 * root) is None
    assert is_gradient(field, [X, Y]) is None
    assert is_gradient([Y / root, X], [X, Y]) is None
    assert potential(field, [X, Y], [root + Y**2]) is None


def test_a_point_of_the_domain_decides() -> None:
    root, near = sp.sqrt(X**2 - 400), {X: sp.Integer(30), Y: sp.Integer(1)}
    field = [-X / root, -2 * Y]
    assert vanishes(root**3 - root * X**2 + 400 * root, near) is True
    assert vanishes(root - X, near) is False
    assert is_gradient(field, [X, Y], near) is True
    assert is_gradient([Y / root, X], [X, Y], near) is False
    assert potential(field, [X, Y], [root + Y**2], near) == root + Y**2


def test_close_points_are_close_and_come_first() -> None:
    met: list[dict] = []

    def note(point: Mapping) -> None:
        met.append(dict(point))

    assert everywhere(note, [X, Y], {X: sp.Integer(1000)}) is None
    assert met[0][X] == 1000
    assert all(900 < point[X] < 1100 for point in met[:6])
    assert abs(met[6][X]) <= 10


def test_an_integral_starts_where_the_field_is_real() -> None:
    field = [-sp.sqrt(X - 50) * sp.exp(X**2 / 10**4)]
    V = potential(field, [X], near={X: sp.Integer(60)})
    assert V is not None
    assert V.subs(X, 61).evalf(20) > 0
