r"""What scale-invariant weights forget of their norm under SGD with L2 at a fixed number of epochs, and how.

With :math:`G_b^2 = G^2 + \frac{N-b}{N-1}\frac{s^2}b` the mean squared norm of a minibatch gradient at unit
weights and :math:`a = 1 - \eta\lambda`, the age of :mod:`~initmem.theory.models.scale_invariant` after K
updates at a constant rate is a geometric sum,

.. math::
    \tau = \frac{2\eta^2G_b^2}{r_0^4} \sum_{k=1}^K a^{2-4k}
         = \frac{2\eta^2G_b^2}{r_0^4}\, a^2\, \frac{a^{-4K} - 1}{1 - a^4},

with :math:`K = EN/b` for E epochs. The memory is
:math:`M = d\ln r_K/d\ln r_0 = 1/(1+\tau)`, and what is forgotten is decay and growth,

.. math:: \ln\frac1M = \ln(1+\tau) = -4K\ln a + 4\ln\frac{r_K}{r_0},

the first of which is :math:`4 T_{L2}` to leading order. A start is remembered where M is above a half. Where
it is not, the mechanism is decay if that is more than half of the sum, and otherwise the larger part of
:math:`G_b^2`: signal, or noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..theory.errors import InvalidInput
from ..theory.trace import Array

REGIONS = ("remembered", "signal", "noise", "decay")


@dataclass(frozen=True)
class Norm:
    r"""Scale-invariant weights and how long they train.

    Attributes
    ----------
    init_scale : float
        Norm :math:`r_0` at the start.
    gradient_norm, noise : float
        G and s at unit weights, as in :mod:`~initmem.theory.models.scale_invariant`.
    train_size : int
        Examples N.
    epochs : int
        Passes E over them.
    """

    init_scale: float = 1.0
    gradient_norm: float = 0.1
    noise: float = 1.0
    train_size: int = 40_000
    epochs: int = 100

    def gradient_squares(self, batch_size: ArrayLike) -> tuple[float, Array]:
        r"""The two parts of :math:`G_b^2`, signal and noise."""
        b, n = np.asarray(batch_size, dtype=float), self.train_size
        return self.gradient_norm**2, self.noise**2 / b * (n - b) / (n - 1)

    def forgotten(self, lr: ArrayLike, batch_size: ArrayLike, weight_decay: float) -> tuple[Array, Array]:
        r"""The two parts of :math:`\ln(1/M)`, decay and growth.

        Parameters
        ----------
        lr, batch_size : array_like
            Constant rates :math:`\eta` and batches b, of shapes that fit together.
        weight_decay : float
            Coupled coefficient :math:`\lambda`.

        Returns
        -------
        tuple of ndarray
            :math:`-4K\ln a`, and :math:`4\ln(r_K/r_0)`, which is negative where the norm shrinks.

        Raises
        ------
        InvalidInput
            If a rate is not positive or decay erases the weights in one update.

        Examples
        --------
        >>> decay, growth = Norm().forgotten(0.1, 100, 1e-4)
        >>> round(float(decay), 4), round(float(growth), 4)
        (1.6, 2.1008)
        """
        lr, batch_size = np.asarray(lr, dtype=float), np.asarray(batch_size, dtype=float)
        if not ((lr > 0) & (lr * weight_decay < 1)).all() or weight_decay < 0:
            raise InvalidInput(
                f"a rate at weight_decay = {weight_decay:g} is out of range: give positive rates whose "
                "product with the decay is from 0 to below 1."
            )
        updates = self.epochs * self.train_size / batch_size
        pace = -4 * np.log1p(-lr * weight_decay)  # of decay, in one update
        decay = updates * pace
        if weight_decay:
            log_sum = decay + np.log(-np.expm1(-decay)) - np.log(-np.expm1(-pace))
        else:
            log_sum = np.log(updates)
        log_first = np.log(2 * lr**2 * sum(self.gradient_squares(batch_size)) / self.init_scale**4) - pace / 2
        return decay, np.logaddexp(0, log_first + log_sum) - decay

    def memory(self, lr: ArrayLike, batch_size: ArrayLike, weight_decay: float) -> Array:
        """The exponent M with which the norm follows that at the start; arguments as for `forgotten`."""
        return np.exp(-sum(self.forgotten(lr, batch_size, weight_decay)))

    def region(self, lr: ArrayLike, batch_size: ArrayLike, weight_decay: float) -> np.ndarray:
        """Which of :data:`REGIONS` each recipe is in, by index; arguments as for `forgotten`.

        Examples
        --------
        >>> [REGIONS[Norm().region(lr, b, 3e-5)] for lr, b in ((1e-4, 64), (0.1, 64), (1.0, 8192), (1.0, 1))]
        ['remembered', 'noise', 'signal', 'decay']
        """
        decay, growth = self.forgotten(lr, batch_size, weight_decay)
        signal, noise = self.gradient_squares(batch_size)
        mechanism = np.where(decay > growth, 3, np.where(signal > noise, 1, 2))
        return np.where(decay + growth < np.log(2), 0, mechanism)
