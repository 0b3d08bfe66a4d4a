r"""The clock of a scale-invariant layer weighted by the gradients that a run really had.

The clocks of a recipe take the gradient to stay what it was. With the norms of gradient and weights logged
at every update, :math:`|g_k| r_k` is the gradient's norm at unit weights, and

.. math:: \frac{1}{r_0^4}\sum_k \eta_k^2 |g_k|^2 r_k^2

runs as long as gradients do, and stands still when the examples are fitted. Twice that, undoing decay, is
the age of the law for the norm, :math:`r_K^4 = A_K^4 r_0^4 (1 + \tau)`; see
:mod:`~initmem.theory.models.scale_invariant`.
"""

import math
from dataclasses import dataclass

from .errors import InvalidInput
from .models.scale_invariant import age, norm
from .trace import Trace


@dataclass(frozen=True)
class Measured:
    r"""What one layer's norms say.

    Attributes
    ----------
    clock : float
        :math:`\sum_k \eta_k^2|g_k|^2r_k^2/r_0^4`, with the effective rate under momentum.
    age : float
        :math:`\tau`, the same times two with every addition undoing the decay before it.
    memory : float
        :math:`1/(1+\tau)`: the exponent with which the final norm follows the first, if the gradient at
        unit weights does not depend on the norm.
    norm_ratio : float
        :math:`r_K/r_0` by the law.
    """

    clock: float
    age: float
    memory: float
    norm_ratio: float


def measured(trace: Trace) -> dict[str, Measured]:
    """The trajectory-weighted clock of every layer of a trace of SGD.

    Parameters
    ----------
    trace : Trace
        With ``gradient_norm`` and ``weight_norm``.

    Returns
    -------
    dict of str to Measured
        Empty where no norms were logged.

    Raises
    ------
    InvalidInput
        If the optimizer is not SGD, whose steps alone scale with the gradient, or a norm is zero.

    Examples
    --------
    Gradients that fall as 1/r, for a hundred updates of SGD from the norm 1/2:

    >>> import numpy as np
    >>> from initmem.theory.models.radial import sgd_norms
    >>> recipe = Trace(lr=np.full(100, 0.1))
    >>> norms = np.append(0.5, sgd_norms(recipe, 0.5, 2.0))
    >>> logged = Trace(
    ...     lr=recipe.lr, weight_norm={"conv": norms[:-1]}, gradient_norm={"conv": 2 / norms[:-1]}
    ... )
    >>> result = measured(logged)["conv"]
    >>> round(result.clock, 12), round(result.age, 12), round(result.norm_ratio, 4)
    (64.0, 128.0, 3.3701)
    """
    if trace.weight_norm and trace.optimizer != "sgd":
        raise InvalidInput(
            f"gradient norms do not set the steps of {trace.optimizer}: measured clocks are those of sgd."
        )
    return {layer: _layer(trace, layer) for layer in trace.weight_norm}


def _layer(trace: Trace, layer: str) -> Measured:
    weights, gradients = trace.weight_norm[layer], trace.gradient_norm[layer]
    if not (weights > 0).all():
        raise InvalidInput(f"weight_norm of {layer} reaches 0, where it has no direction: leave it out.")
    pushes = (trace.effective_lr * gradients * weights) ** 2
    start = float(weights[0])
    at_unit = {"gradient_norm": gradients * weights, "noise": 0.0, "entries": 1.0}
    tau = float(age(trace, start, **at_unit)[-1])
    return Measured(
        clock=math.fsum(pushes) / start**4,
        age=tau,
        memory=1 / (1 + tau),
        norm_ratio=float(norm(trace, start, **at_unit)[-1]) / start,
    )
