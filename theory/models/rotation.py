r"""How far scale-invariant weights turn, and what that says about the memory of their norm.

An update u at right angles to w turns it by the angle :math:`\delta_k` of tangent :math:`\eta|u|/(a r_k)`,
:math:`a = 1-\eta\lambda`, and leaves :math:`r_{k+1} = a\,r_k\sec\delta_k`. Where gradients have no
preferred direction, an update is the multiple a of the weights in the mean, so that

.. math:: \mathbb E\cos\angle(w_K, w_0) = \frac{r_0}{r_K}\prod_k(1-\eta_k\lambda_k),

and the exponent of the norm's memory is the fourth power of that cosine under SGD, the square for updates
of a fixed size. A signal turns real networks further than this: the exponent carries over, the cosine not.
"""

import numpy as np

from ..trace import Array, Trace
from .scale_invariant import batch_gradient_square, norm, power, radial_memory


def turns(
    trace: Trace, init_scale: float, gradient_norm: float = 1.0, noise: float = 1.0, entries: float = 128.0
) -> Array:
    r"""The angle of every update, without momentum and with the norm of the law.

    Parameters
    ----------
    trace : Trace
        Its momentum is left out of account.
    init_scale, gradient_norm, noise, entries : float
        As for :func:`~initmem.theory.models.scale_invariant.norm`.

    Returns
    -------
    ndarray, shape (updates,)
        Radians.

    Examples
    --------
    >>> trace = Trace(lr=np.full(3, 0.1))
    >>> delta = turns(trace, 1.0, gradient_norm=1.0, noise=0.0)
    >>> round(float(np.prod(1 / np.cos(delta))), 3), round(float(norm(trace, 1.0, 1.0, 0.0)[-1]), 3)
    (1.015, 1.015)
    """
    settings = {"gradient_norm": gradient_norm, "noise": noise, "entries": entries}
    before = np.concatenate([[init_scale], norm(trace, init_scale, **settings)[:-1]])
    if trace.optimizer == "sgd":
        size = np.sqrt(batch_gradient_square(trace, gradient_norm, noise)) / before
    else:
        size = np.sqrt(entries)
    return np.arctan(trace.lr * size / ((1 - trace.lr * trace.weight_decay) * before))


def mean_cosine(
    trace: Trace, init_scale: float, gradient_norm: float = 1.0, noise: float = 1.0, entries: float = 128.0
) -> Array:
    r"""Mean cosine of the angle between the weights and their start, :math:`(1+\tau_k)^{-1/p}`.

    Parameters
    ----------
    trace : Trace
    init_scale, gradient_norm, noise, entries : float
        As for :func:`~initmem.theory.models.scale_invariant.norm`.

    Returns
    -------
    ndarray, shape (updates,)
        After each update.

    Examples
    --------
    >>> trace = Trace(lr=np.full(3, 0.1), optimizer="adamw")
    >>> mean_cosine(trace, 1.0, entries=50).round(4).tolist()
    [0.8165, 0.7071, 0.6325]
    """
    left = radial_memory(trace, init_scale, gradient_norm, noise, entries)
    return left ** (1 / power(trace))
