r"""The catapult: a learning rate beyond stability throws a net to where the curvature is small.

For two scalar layers trained on the target 0 by gradient descent, the output :math:`f = uv` and the
curvature :math:`\ell = u^2 + v^2`, the eigenvalue of the tangent kernel, follow exactly (Lewkowycz et al.
2020 for wide layers)

.. math:: f' = f\,(1 - \eta\ell + \eta^2f^2), \qquad \ell' = \ell + \eta f^2(\eta\ell - 4).

For :math:`2 < \eta\ell < 4` f grows until it has pulled :math:`\ell` below :math:`2/\eta`, within
:math:`O(\ln 1/f)` updates. An init scale too large for the learning rate is thus erased by an event, which
no clock counts: it needs no noise and no decay, and it happens once.
"""

from ..errors import InvalidInput

# Below this share of the curvature the output no longer moves it.
SETTLED = 1e-12


def catapult_step(lr: float, output: float, curvature: float) -> tuple[float, float]:
    r"""Output f and curvature :math:`\ell` after one update.

    Parameters
    ----------
    lr : float
    output : float
        :math:`f = uv`.
    curvature : float
        :math:`\ell = u^2 + v^2`.

    Returns
    -------
    output, curvature : float

    Examples
    --------
    >>> output, curvature = catapult_step(1.0, 0.05, 3.0)
    >>> round(output, 6), round(curvature, 6)
    (-0.099875, 2.9975)
    """
    squared = output * output
    return (
        output * (1 - lr * curvature + lr * lr * squared),
        curvature + lr * squared * (lr * curvature - 4),
    )


def catapult(lr: float, output: float, curvature: float, updates: int = 100_000) -> float:
    r"""The curvature at which training settles.

    Parameters
    ----------
    lr : float
    output, curvature : float
        At the start.
    updates : int, default 100,000
        Training ends here if the output has not vanished before.

    Returns
    -------
    float
        Below :math:`2/\eta`; infinite if training diverges.

    Raises
    ------
    InvalidInput
        If no two weights have this product and this sum of squares, or the learning rate is not positive.

    Examples
    --------
    Where training is stable, little happens; beyond, the curvature falls far below 2/lr:

    >>> round(catapult(1.0, 0.01, 1.9), 4), round(catapult(1.0, 0.01, 3.0), 4)
    (1.8989, 0.2227)
    """
    if not 0 < lr < float("inf"):
        raise InvalidInput(f"lr = {lr:g} is not allowed: give a positive number.")
    if not 2 * abs(output) <= curvature < float("inf"):
        raise InvalidInput(
            f"curvature = {curvature:g} is below twice the output {output:g}, which no two weights have: "
            f"give at least {2 * abs(output):g}."
        )
    for _ in range(updates):
        if abs(output) <= SETTLED * curvature:
            break
        output, curvature = catapult_step(lr, output, curvature)
        if lr * lr * output * output > 1e100:
            return float("inf")
    return curvature
