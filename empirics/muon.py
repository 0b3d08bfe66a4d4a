r"""Muon for stacks of convolution kernels.

The update of a kernel, seen as a matrix with one row an output channel, is
:math:`W \leftarrow (1 - \eta\lambda) W - \eta \sqrt{\max(1, \text{rows}/\text{cols})}\,
\mathrm{NS}_5(\beta M + (1-\beta) G)` with :math:`M \leftarrow \beta M + (1-\beta) G`: the rule of
``torch.optim.Muon``, which accepts matrices only. The weights are never renormalised, so whatever
radial memory a run keeps or loses comes from its dynamics.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

# Quintic of Jordan's Newton-Schulz iteration: steepest at zero, singular values end near 1, not at 1.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def newton_schulz(matrices: Tensor, steps: int = 5, eps: float = 1e-7) -> Tensor:
    """Bring all singular values of each matrix near 1.

    Parameters
    ----------
    matrices : Tensor, shape (..., rows, cols)
    steps : int
        Iterations.
    eps : float
        Floor of the norm that is divided by, for a gradient of zero.

    Returns
    -------
    Tensor, shape (..., rows, cols)

    Examples
    --------
    >>> values = torch.linalg.svdvals(newton_schulz(torch.diag(torch.tensor([3.0, 1.0, 0.5]))))
    >>> bool(((0.6 < values) & (values < 1.25)).all())
    True
    """
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=eps)
    a, b, c = COEFFICIENTS
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Muon over kernels of shape (members, out, in, k, k).

    Parameters
    ----------
    params : iterable of Parameter, or of parameter groups
    lr, weight_decay, momentum : float
        As in ``torch.optim.Muon``; decay is decoupled and multiplied by the plain rate.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float,
        weight_decay: float = 0.0,
        momentum: float = 0.95,
    ) -> None:
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One update from the gradients in ``.grad``."""
        for group in self.param_groups:
            lr, beta = group["lr"], group["momentum"]
            for weight in group["params"]:
                state = self.state[weight]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(weight)
                buffer = state["momentum_buffer"].lerp_(weight.grad, 1 - beta)
                update = newton_schulz(weight.grad.lerp(buffer, beta).flatten(2))
                rows, cols = update.shape[-2:]
                weight.mul_(1 - lr * group["weight_decay"])
                weight.sub_(update.view_as(weight), alpha=lr * max(1, rows / cols) ** 0.5)
