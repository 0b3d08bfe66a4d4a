r"""The clock of a scale-invariant weight, weighted along the way that training really took.

The gradient of a weight w that BatchNorm follows is orthogonal to w and shrinks as 1/r with its norm r, so
under SGD without momentum and decay

.. math::

    r_{k+1}^2 = r_k^2 + \eta_k^2 |g_k|^2, \qquad
    r_K^4 = r_0^4 + 2 \sum_k \eta_k^2 |g_k|^2 r_k^2 + \sum_k \eta_k^4 |g_k|^4 .

The middle sum is the clock. It stops when the data are fitted and gradients vanish, where
:math:`\sum_k \eta_k^2` runs on. The last sum is of higher order in the learning rate, but not small where
a short start meets a large rate. BatchNorm's epsilon counts there too: it adds to
:math:`\langle w, g\rangle`, which would be zero, in proportion to its share of the variance.
"""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..theory.errors import InvalidInput
from .networks import kernels


@torch.no_grad()
def kernel_norms(network: nn.Module) -> Tensor:
    """Frobenius norm of every kernel, (layers, members)."""
    return _norms(list(kernels(network).values()))


class RadialClock:
    r"""Sums over updates, for every kernel of every member, what its norm turns on.

    Parameters
    ----------
    network : Module
        A packed network.

    Attributes
    ----------
    clock : Tensor of float64, shape (layers, members)
        :math:`\sum_k \eta_k^2 |g_k|^2 r_k^2` so far, with :math:`r_k` the norm before update k and
        :math:`g_k` the gradient of the batch's loss, without weight decay. The unit is that of
        :math:`r^4`.

    Examples
    --------
    >>> from .networks import ResNet9
    >>> network = ResNet9(members=2, width=2, channels=1, classes=10)
    >>> for weight in kernels(network).values():
    ...     nn.init.ones_(weight)
    ...     weight.grad = torch.full_like(weight, 0.5)
    Parameter...
    >>> clock = RadialClock(network)
    >>> clock.add(lr=0.1)  # the stem has 2*1*3*3 entries: (0.1 * 0.5 * 18)^2
    >>> clock.clock[0].round(decimals=6).tolist()
    [0.81, 0.81]
    """

    def __init__(self, network: nn.Module) -> None:
        self._weights = list(kernels(network).values())
        members = len(self._weights[0])
        # A sum over a million updates would lose digits in single precision.
        self.clock = torch.zeros(len(self._weights), members, dtype=torch.float64)
        self._gradient_sum = torch.zeros_like(self.clock)
        self._updates = 0

    @torch.no_grad()
    def add(self, lr: float) -> None:
        """Count an update: after its gradients are there, before the optimizer takes them.

        Parameters
        ----------
        lr : float
            Of the kernels.
        """
        gradient_norm = _norms([_gradient(weight) for weight in self._weights])
        self.clock += (lr * gradient_norm * _norms(self._weights)).square()
        self._gradient_sum += gradient_norm
        self._updates += 1

    def mean_gradient_norm(self) -> Tensor:
        """Mean of the gradient norms since the last call, (layers, members)."""
        mean = (self._gradient_sum / self._updates).float()
        self._gradient_sum.zero_()
        self._updates = 0
        return mean


def measured_age(history: pd.DataFrame, layer: str) -> NDArray[np.float64]:
    r"""How far the norm of a kernel has left its start behind, from what a run recorded.

    The age is :math:`2 \sum_k \eta_k^2 |g_k|^2 r_k^2 / r_0^4`. Under SGD without momentum and decay
    the norm has grown to :math:`r_0 (1 + \text{age})^{1/4}` and, if the gradient on the unit sphere does
    not depend on the start, its radial memory is 1/(1 + age). In trained networks it does depend on it:
    in those of the tests this moves the forgotten share by up to three tenths of itself. With momentum
    :math:`\beta` and gradients of independent noise, divide the age by :math:`(1-\beta)^2`.

    Parameters
    ----------
    history : DataFrame
        Of one run, a row an epoch.
    layer : str
        One of the kernels, such as "stem".

    Returns
    -------
    ndarray, shape (epochs,)
        After each epoch.

    Raises
    ------
    InvalidInput
        If the history has no such layer, or was recorded before the clock was.

    Examples
    --------
    >>> history = pd.DataFrame({"initial_norm.stem": [2.0, 2.0], "radial_clock.stem": [4.0, 8.0]})
    >>> measured_age(history, "stem").tolist()
    [0.5, 1.0]
    """
    measured = [name.partition(".")[2] for name in history if str(name).startswith("radial_clock.")]
    if layer not in measured:
        raise InvalidInput(
            f"layer {layer!r} has no radial clock in this history: "
            + (
                f"choose one of {', '.join(measured)}."
                if measured
                else "the run was recorded before there was one, train it again in a new folder."
            )
        )
    clock, start = (history[f"{name}.{layer}"].to_numpy(float) for name in ("radial_clock", "initial_norm"))
    return 2 * clock / start**4


def _gradient(weight: nn.Parameter) -> Tensor:
    assert weight.grad is not None
    return weight.grad


def _norms(tensors: list[Tensor] | list[nn.Parameter]) -> Tensor:
    return torch.stack([tensor.flatten(1).norm(dim=1) for tensor in tensors])
