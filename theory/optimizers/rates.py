"""The rates of a quadratic loss to all orders, beside the field that is cut off."""

from itertools import chain

import numpy as np

from ..backward_error.derivative import derivative
from ..backward_error.lag import Z, memoryless
from ..backward_error.parts import symbols_of
from ..backward_error.quadratic import exact_rate
from ..errors import InvalidInput
from .constants import Constants
from .loss import Loss, decayed, gradient
from .optimizer import Optimizer


def rates(optimizer: Optimizer, loss: Loss, c: Constants) -> list[dict[str, float | None]] | None:
    """For each curvature the rate of the modified flow; None for other losses and memories.

    Equal curvatures stand there once. A rate is None where no real flow carries the iterates.

    Parameters
    ----------
    optimizer : Optimizer
    loss : Loss
    c : Constants

    Returns
    -------
    list of dict or None
        With the keys "curvature" and "rate".

    Examples
    --------
    >>> import sympy as sp
    >>> from initmem.theory.optimizers import named
    >>> rates(named("gd"), Loss.parse(["x**2/2 + y**2/2"]), Constants(lr=sp.Rational(1, 2)))
    [{'curvature': 1.0, 'rate': 1.3862943611198906}]
    """
    weights = optimizer.weights(c) if optimizer.weights else None
    if weights is None or not c.lr.is_number:
        return None
    slopes = gradient(decayed(loss.mean, loss.variables, c.decay_rate), loss.variables)
    hessian = [[derivative(slope, x) for x in loss.variables] for slope in slopes]
    beside = c.decoupled_rate != 0 and not memoryless(weights)
    if beside or weights.free_symbols - {Z} or symbols_of(*chain(*hessian)):
        return None
    found: list[dict[str, float | None]] = []
    last: float | None = None
    for curvature in np.linalg.eigvalsh(np.array(hessian, dtype=float)):
        if last is not None and np.isclose(curvature, last, rtol=1e-12, atol=0):
            continue
        last = float(curvature)
        try:
            rate = exact_rate(weights, float(c.lr), last)
        except InvalidInput:
            rate = None
        found.append({"curvature": last, "rate": rate})
    return found
