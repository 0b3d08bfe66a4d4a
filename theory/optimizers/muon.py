r"""Muon: the polar factor of the averaged gradient of a matrix, steepest descent under the spectral norm.

The field uses the exact polar factor :math:`UV^\top` of :math:`G = USV^\top`. Five Newton-Schulz steps, as
training code has them, only come near it. Of the change of G only the antisymmetric part of
:math:`U^\top \dot G V` turns the polar factor, so with square quadratics of one curvature there is no
correction at all. The penalty is the nuclear norm of the gradient.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..errors import InvalidInput
from . import steepest

ENTRY = re.compile(r"[^\W\d_]+_?([1-9])([1-9])")


def shape(variables: Sequence[sp.Symbol]) -> tuple[int, int]:
    """Rows and columns of the matrix whose entries are named like w11, w12, ...

    Raises
    ------
    InvalidInput
        If the names are not those of all entries of a matrix with a side of at most two.

    Examples
    --------
    >>> shape(sp.symbols("w11 w12 w13 w21 w22 w23"))
    (2, 3)
    """
    names = ", ".join(map(str, variables))
    found = [ENTRY.fullmatch(str(variable)) for variable in variables]
    places = [(int(match[1]), int(match[2])) for match in found if match]
    rows, columns = (max(place) for place in zip(*places, strict=True)) if places else (0, 0)
    if len(places) < len(variables) or places != [
        (i + 1, j + 1) for i in range(rows) for j in range(columns)
    ]:
        raise InvalidInput(
            f"muon trains a matrix and the loss has the variables {names}: name all its entries by row "
            f"and column, as in w11, w12, w21, w22."
        )
    if min(rows, columns) > 2:
        raise InvalidInput(
            f"a {rows} x {columns} matrix has no polar factor in closed form: the smaller side may be 1 or "
            f"2; initmem.theory.optimizers.muon.polar_factor has the numbers for any shape."
        )
    return rows, columns


def polar(p: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> list[sp.Expr]:
    r"""The polar factor :math:`(GG^\top)^{-1/2}G`, row by row, for a matrix with a side of at most two.

    By Cayley and Hamilton a positive 2x2 matrix A with determinant :math:`d^2` and trace t has
    :math:`A^{1/2} = (A + d)/\sqrt{t + 2d}`, hence :math:`A^{-1/2} = ((t + d) - A)/(d\sqrt{t + 2d})`.

    Examples
    --------
    >>> polar(sp.symbols("a b"), sp.symbols("w11 w12"))
    [a/sqrt(a**2 + b**2), b/sqrt(a**2 + b**2)]
    """
    rows, columns = shape(variables)
    G = sp.Matrix(rows, columns, list(p))
    flat = G if rows <= columns else G.T
    if flat.rows == 1:
        factor = flat / norm(p, variables)
    else:
        A, d = flat * flat.T, _root_of_determinant(flat)
        factor = ((A.trace() + d) * flat - A * flat) / (d * norm(p, variables))
    return list(factor if rows <= columns else factor.T)


def norm(p: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> sp.Expr:
    r"""The nuclear norm :math:`\sqrt{\mathrm{tr}\,A + 2\sqrt{\det A}}` with :math:`A = GG^\top`."""
    rows, columns = shape(variables)
    G = sp.Matrix(rows, columns, list(p))
    flat = G if rows <= columns else G.T
    squares = sp.Add(*(entry**2 for entry in p))
    return sp.sqrt(squares) if flat.rows == 1 else sp.sqrt(squares + 2 * _root_of_determinant(flat))


def _root_of_determinant(flat: sp.Matrix) -> sp.Expr:
    """The product of the two singular values, as a root of a sum of squares of minors (Cauchy and Binet)."""
    minors = [
        flat[0, i] * flat[1, j] - flat[0, j] * flat[1, i]
        for i in range(flat.cols)
        for j in range(i + 1, flat.cols)
    ]
    return sp.Abs(minors[0]) if len(minors) == 1 else sp.sqrt(sp.Add(*(minor**2 for minor in minors)))


def polar_factor(G: np.ndarray) -> np.ndarray:
    r"""The polar factor :math:`UV^\top` of a matrix of any shape, by its singular value decomposition.

    Parameters
    ----------
    G : ndarray of shape (m, n)
        Of full rank.

    Returns
    -------
    ndarray of shape (m, n)

    Examples
    --------
    >>> polar_factor(np.array([[1.0, 4.0], [0.0, 6.0]])).round(8)
    array([[ 0.86824314,  0.49613894],
           [-0.49613894,  0.86824314]])
    """
    U, _, Vt = np.linalg.svd(G, full_matrices=False)
    return U @ Vt


def polar_derivative(G: np.ndarray, change: np.ndarray) -> np.ndarray:
    r"""How the polar factor moves when the matrix does, for any shape.

    With :math:`K = U^\top \dot G V` it is :math:`U\frac{K_{ij}-K_{ji}}{s_i+s_j}V^\top`, and for matrices that
    are not square the parts of :math:`\dot G` outside the row or column space divided by the singular
    values.

    Parameters
    ----------
    G, change : ndarray of shape (m, n)
        Matrix of full rank, and its derivative.

    Returns
    -------
    ndarray of shape (m, n)

    Examples
    --------
    A symmetric change of a positive matrix does not turn it:

    >>> polar_derivative(np.diag([1.0, 2.0]), np.array([[1.0, 3.0], [3.0, 1.0]])).any()
    np.False_
    """
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    K = U.T @ change @ Vt.T
    turned = U @ ((K - K.T) / (s[:, None] + s[None, :])) @ Vt
    outside_rows = U @ np.diag(1 / s) @ (U.T @ change - K @ Vt)
    outside_columns = (change @ Vt.T - U @ K) @ np.diag(1 / s) @ Vt
    return turned + outside_rows + outside_columns


def step(theta: np.ndarray, slope: Any, buffer: Any, c: Any) -> tuple[np.ndarray, Any]:
    """One update of a square matrix given row by row."""
    _, buffer = steepest.averaged(theta, slope, buffer, c)
    side = int(np.sqrt(theta.size))
    return steepest.moved(theta, polar_factor(buffer.reshape(side, side)).ravel(), c), buffer


NORM = steepest.Norm(
    polar,
    norm,
    "polar",
    "polar(G) = U V^T for the singular value decomposition G = U S V^T",
    "||grad L||_nuclear",
    r"\|\nabla L\|_{\mathrm{nuclear}}",
)

OPTIMIZER = steepest.optimizer(
    NORM,
    step,
    dimension=4,
    highest_order=1,  # of four entries the second order has a million operations
    name="muon",
    title="Muon",
    settings=("beta",),
    update=(
        r"M \leftarrow \beta M + (1-\beta)\,G,\quad W \leftarrow (1-\eta\lambda)\,W - \eta\,UV^\top "
        r"\text{ for } M = USV^\top"
    ),
    twin=r"\dot W = -(GG^\top)^{-1/2}G - \lambda W",
    assumptions=(
        "the exact polar factor, where training code takes five Newton-Schulz steps",
        "the gradient keeps full rank",
        "no scale factor for the shape of the matrix, no Nesterov look-ahead, no renormalised weights",
        "full batch",
    ),
    clocks=("T_adapt: every step has spectral norm lr", "T_L2: if the decay is decoupled"),
    references=("jordan2024muon", "bernstein2024old", "chen2025muon", "higham2008functions"),
)
