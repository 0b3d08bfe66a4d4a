r"""What a start costs in the end: the excess risk of least squares with fewer examples than weights.

The part of the start that no example sees stays in the solution, and is an error of the same size on new
data. Random examples leave the share :math:`1-n/d` of any direction unseen, so that the spread of the risk
over init scales is that share of the spread of their squares, less what decay takes. The rest of the risk
is that of interpolation at the smallest norm (Hastie et al., arXiv:1903.08560).
"""

import math

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .linear import null_memory


def excess_risk(
    examples: int, width: int, init_scale: float, signal: float, noise: float, kept: float = 1.0
) -> float:
    r"""The mean excess risk of least squares that started at random weights and fitted every example.

    With :math:`w_0 \sim N(0, \sigma^2 I/d)`, examples of independent standard normal entries and targets
    :math:`y = X w_* + \tau\xi`,

    .. math:: E\,|w_\infty - w_*|^2 = \Bigl(1-\frac nd\Bigr)(p^2\sigma^2 + |w_*|^2)
              + \tau^2\frac{n}{d-n-1},

    where p of the start is left where no example reaches: all of it without decay, and
    :math:`\prod_k(1-\eta_k\lambda)` of it under a decay that is weak beside the curvature of the data.

    Parameters
    ----------
    examples, width : int
        Examples n and weights d, at least n + 2.
    init_scale : float
        Root of the mean square norm of the start :math:`\sigma`.
    signal : float
        Norm of the true weights :math:`|w_*|`.
    noise : float
        Standard deviation :math:`\tau` of the targets.
    kept : float, default 1
        The share p.

    Returns
    -------
    float

    Raises
    ------
    InvalidInput
        If there are too few weights for the mean to be finite.

    Examples
    --------
    >>> excess_risk(examples=20, width=40, init_scale=1.0, signal=1.0, noise=0.0)
    1.0
    """
    if not 1 <= examples <= width - 2:
        raise InvalidInput(
            f"{examples} examples for {width} weights have no finite mean risk in closed form: give at least "
            f"1 example, and at least 2 weights more."
        )
    unseen = 1 - examples / width
    return unseen * ((kept * init_scale) ** 2 + signal**2) + noise**2 * examples / (width - examples - 1)


def risk_spread(
    examples: int, width: int, smallest: float, largest: float, trace: Trace | None = None
) -> float:
    r"""How far apart the mean risks of the smallest and the largest start are.

    .. math:: \Bigl(1-\frac nd\Bigr)(\sigma_2^2-\sigma_1^2)\prod_k(1-\eta_k\lambda_k)^2

    Parameters
    ----------
    examples, width : int
        As in :func:`excess_risk`.
    smallest, largest : float
        Scales of the start.
    trace : Trace, optional
        Whose decay has acted on the start; without it there was none.

    Returns
    -------
    float

    Examples
    --------
    >>> trace = Trace(lr=np.full(10, 0.1), weight_decay=0.5)
    >>> round(risk_spread(20, 40, 0.5, 2.0), 6), round(risk_spread(20, 40, 0.5, 2.0, trace), 6)
    (1.875, 0.672161)
    """
    kept = 1.0 if trace is None else float(null_memory(trace)[-1])
    small, large = (excess_risk(examples, width, scale, 0.0, 0.0, kept) for scale in (smallest, largest))
    return large - small


def simulate_risk(
    examples: int,
    width: int,
    init_scale: float,
    signal: float,
    noise: float,
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Excess risks of interpolators of random examples from random starts.

    Parameters
    ----------
    examples, width, init_scale, signal, noise
        As in :func:`excess_risk`.
    draws : int
        Data sets, each with a start of its own.
    rng : Generator

    Returns
    -------
    ndarray, shape (draws,)

    Examples
    --------
    >>> risks = simulate_risk(5, 20, 1.0, 1.0, 0.0, 400, np.random.default_rng(0))
    >>> bool(abs(risks.mean() - 1.5) < 5 * risks.std() / 20)
    True
    """
    X = rng.normal(size=(draws, examples, width))
    start = rng.normal(0, init_scale / math.sqrt(width), (draws, width))
    truth = signal * np.eye(1, width)
    # The pseudoinverse of each data set moves the start to the nearest interpolator.
    residual = (X @ (truth - start)[..., None])[..., 0] + noise * rng.normal(size=(draws, examples))
    moved = np.swapaxes(X, 1, 2) @ np.linalg.solve(X @ np.swapaxes(X, 1, 2), residual[..., None])
    return np.sum((start + moved[..., 0] - truth) ** 2, axis=1)
