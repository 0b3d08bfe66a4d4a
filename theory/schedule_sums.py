r"""Closed forms of :math:`\sum_k\eta_k` and :math:`\sum_k\eta_k^2` for every shape of schedule.

With W updates of warm-up and :math:`n = N - W` after it,

.. math:: \sum_{k<N}\eta_k^p = \eta^p\Bigl[\sum_{k=1}^{W}\Bigl(\frac kW\Bigr)^p + \sum_{k<n} s_n(k)^p\Bigr].

Powers of k and of a constant are summed by sympy; a power of the cosine is a sum of :math:`e^{i\pi jk/n}`,
each of which is a geometric series. The clocks are made of these sums, and the closed forms give them for
lengths that could never be walked through update by update.
"""

from collections.abc import Callable
from functools import lru_cache

import sympy as sp

from .errors import InvalidInput
from .schedules import SHAPES, Schedule

#: Peak learning rate, number of updates, and how many of these are warm-up.
LR = sp.Symbol("lr", positive=True)
UPDATES, WARMUP = sp.symbols("N W", integer=True, nonnegative=True)

# Length of what comes after the warm-up, and an update of it.
LENGTH = sp.Symbol("n", integer=True, positive=True)
UPDATE = sp.Symbol("k", integer=True, nonnegative=True)

# Decimal digits in the evaluation; a double keeps 16, and sympy adds those that cancel.
DIGITS = 30


def constant(power: int) -> sp.Expr:
    """The number of updates."""
    return sp.summation(sp.Integer(1), (UPDATE, 0, LENGTH - 1))


def cosine(power: int) -> sp.Expr:
    r"""The sum of :math:`((1+\cos x_k)/2)^p` over :math:`x_k = \pi k/n`.

    With :math:`z = e^{ix}` the summand is :math:`((1+z)^2/(4z))^p`, a sum of :math:`z^j` with binomials. The
    series of :math:`e^{i\pi jk/n}` over k is n where all its terms are 1, that is where 2n divides j, and
    else :math:`(1-(-1)^j)/(1-e^{i\pi j/n})`, of which the imaginary parts of j and -j cancel.
    """
    z, x = sp.Symbol("z"), sp.Symbol("x", real=True)
    half = sp.trigsimp(sp.re(sp.expand_complex(1 / (1 - sp.exp(sp.I * x)))))
    total = sp.Integer(0)
    for (j,), weight in sp.Poly((1 + z) ** (2 * power), z).terms():
        j = abs(j - power)
        series = (1 - (-1) ** j) * half
        if j % 2 == 0:
            whole = [sp.Eq(LENGTH, divisor) for divisor in sp.divisors(j // 2)]
            series = sp.Piecewise((LENGTH, sp.Or(*whole) if j else True), (series, True))
        total += weight * series
    return total / 4**power


def linear(power: int) -> sp.Expr:
    """The sum of a polynomial in k."""
    return sp.factor(sp.summation(sp.expand((1 - UPDATE / LENGTH) ** power), (UPDATE, 0, LENGTH - 1)))


def step(power: int) -> sp.Expr:
    """How many updates run at 1, at 1/10 and at 1/100, each times its power."""
    first, second = sp.ceiling(LENGTH / 2), sp.ceiling(3 * LENGTH / 4)
    tenth = sp.Rational(1, 10) ** power
    return first + (second - first) * tenth + (LENGTH - second) * tenth**2


def exponential(power: int) -> sp.Expr:
    r"""A geometric series in :math:`100^{-p/n}`, whose terms all differ from 1."""
    ratio, whole = sp.Integer(100) ** (-power / LENGTH), sp.Rational(1, 100**power)
    return (1 - whole) / (1 - ratio)


AFTER_WARMUP: dict[str, Callable[[int], sp.Expr]] = {
    shape.__name__: shape for shape in (constant, cosine, linear, step, exponential)
}


@lru_cache
def closed_form(shape: str, power: int = 1) -> sp.Expr:
    r""":math:`\sum_{k<N}\eta_k^p` as an expression in `LR`, `UPDATES` and `WARMUP`, exact for all lengths.

    Parameters
    ----------
    shape : str
        A shape of :mod:`initmem.theory.schedules`.
    power : int, default 1
        The power p, from 1.

    Returns
    -------
    Expr

    Raises
    ------
    InvalidInput
        If the shape is unknown or the power is below 1.

    Examples
    --------
    >>> closed_form("linear", 2).subs(WARMUP, 0)
    lr**2*Piecewise((0, Eq(N, 0)), ((N + 1)*(2*N + 1)/(6*N), True))
    >>> closed_form("cosine").subs({WARMUP: 0, UPDATES: 4})
    5*lr/2
    """
    if shape not in AFTER_WARMUP:
        raise InvalidInput(f"schedule {shape!r} is unknown: choose one of {', '.join(SHAPES)}.")
    if power < 1:
        raise InvalidInput(f"power = {power} is not allowed: give a whole number from 1.")
    ramp = sp.factor(sp.summation(UPDATE**power, (UPDATE, 1, WARMUP)) / WARMUP**power)
    after = AFTER_WARMUP[shape](power).subs(LENGTH, UPDATES - WARMUP)
    return LR**power * (_unless_empty(WARMUP, ramp) + _unless_empty(UPDATES - WARMUP, after))


def closed_sum(schedule: Schedule, power: int = 1) -> float:
    r""":math:`\sum_k\eta_k^p` of a schedule of any length, rounded once.

    Parameters
    ----------
    schedule : Schedule
    power : int, default 1
        The power p, from 1.

    Returns
    -------
    float

    Raises
    ------
    InvalidInput
        If the power is below 1.

    Examples
    --------
    >>> closed_sum(Schedule("cosine", lr=0.5, updates=10**12, warmup_updates=10**6))
    250000000000.5
    >>> closed_sum(Schedule("step", lr=1.0, updates=4)) == Schedule("step", lr=1.0, updates=4).sum()
    True
    """
    lengths = {UPDATES: schedule.updates, WARMUP: schedule.warmup_updates}
    exact = closed_form(schedule.shape, power).subs({LR: sp.Rational(schedule.lr), **lengths})
    return float(sp.N(exact, DIGITS))


def limit_per_update(shape: str, power: int = 1, warmup: sp.Expr | int = 0) -> sp.Expr:
    r"""The limit of :math:`\frac{1}{N\eta^p}\sum_k\eta_k^p` as schedules of one shape get longer.

    Parameters
    ----------
    shape : str
        A shape of :mod:`initmem.theory.schedules`.
    power : int, default 1
        The power p, from 1.
    warmup : Expr, default 0
        The part of the updates that is warm-up, from 0 to below 1.

    Returns
    -------
    Expr

    Raises
    ------
    InvalidInput
        As :func:`closed_form`.

    Examples
    --------
    >>> limit_per_update("cosine", 2), limit_per_update("linear", 2, warmup=sp.Rational(1, 2))
    (3/8, 1/3)
    """
    # The last branch of each case distinction is that of long schedules.
    form = closed_form(shape, power)
    if warmup == 0:
        form = form.subs(WARMUP, 0)
    form = form.replace(sp.Piecewise, lambda *branches: branches[-1][0]).subs(WARMUP, warmup * UPDATES)
    n = sp.Symbol("n", positive=True)
    return sp.limit(sp.expand(form / LR**power).subs(UPDATES, n) / n, n, sp.oo)


def _unless_empty(length: sp.Expr, total: sp.Expr) -> sp.Expr:
    return sp.Piecewise((0, sp.Eq(length, 0)), (total, True))
