r"""SGD with replacement: every example of every batch is drawn anew.

The mean of one update is that of gradient descent, so the noise adds nothing to the drift. It is a
diffusion of covariance :math:`\eta\,\Sigma/b` per unit of time:

.. math:: d\theta = -\nabla\bigl(L + \tfrac\eta4|\nabla L|^2\bigr)\,dt + \sqrt{\eta\,\Sigma/b}\;dW.

Means of smooth functions then agree to second order in :math:`\eta` on finite times, and to first without
the correction. The variance, itself of size :math:`\eta`, is right to leading order only.
"""

import numpy as np
import sympy as sp

from . import gd, linear_memory
from .constants import Constants
from .experiment import TIME, UPDATES, Experiment
from .loss import Loss
from .optimizer import Optimizer


def diffusion(loss: Loss, c: Constants) -> sp.Matrix:
    r"""The covariance :math:`\eta\,\Sigma/b` of the noise per unit of time."""
    return c.lr / c.batch_size * loss.covariance


def experiment(seed: int) -> Experiment:
    r"""Mean and second moment of SGD on random quadratics, exactly, against those of the diffusion.

    For quadratic examples in one variable the first two moments close, both for the updates and for the
    stochastic equation, so nothing is sampled.
    """
    from scipy.linalg import expm  # as for the flow, only where an experiment runs

    draw = np.random.default_rng(seed)
    x = sp.Symbol("x", real=True)
    curvature, center = draw.uniform(0.5, 2.5, 5).round(2), draw.uniform(-1, 1, 5).round(2)
    loss = Loss.of(
        *(
            sp.Rational(str(a)) * (x - sp.Rational(str(m))) ** 2 / 2
            for a, m in zip(curvature, center, strict=True)
        )
    )
    c = Constants(batch_size=sp.Integer(2))
    field = OPTIMIZER.field(loss, c, 1)
    slope, noise = sp.Poly(-field.terms[0][0], x), sp.Poly(loss.covariance[0] / c.batch_size, x)
    h, s = _linear(slope), [float(noise.coeff_monomial(x**k)) for k in (0, 1, 2)]
    lrs, errors = tuple(TIME / updates for updates in UPDATES), []
    for lr, updates in zip(lrs, UPDATES, strict=True):
        # On (1, x, x^2): one update x - lr (h0 + h1 x + noise).
        stay, push = 1 - lr * h[1], -lr * h[0]
        update = np.array([[1, 0, 0], [push, stay, 0], [push**2, 2 * push * stay, stay**2]])
        update[2] += lr**2 * np.array(s)
        exact = np.linalg.matrix_power(update, updates) @ [1, 1.3, 1.3**2]
        row = []
        for order in (0, 1):
            f = _linear(sp.Poly(sp.Add(*(lr**n * field.terms[n][0] for n in range(order + 1))), x))
            generator = np.array([[0, 0, 0], [f[0], f[1], 0], [0, 2 * f[0], 2 * f[1]]])
            generator[2] += lr * np.array(s)
            row.append(float(np.linalg.norm(expm(generator * TIME) @ [1, 1.3, 1.3**2] - exact)))
        errors.append(row)
    setup = "mean and second moment over five random quadratics in batches of two, exact on both sides"
    return Experiment(setup, lrs, tuple(zip(*errors, strict=True)))


def _linear(polynomial: sp.Poly) -> list[float]:
    return [float(polynomial.coeff_monomial(polynomial.gen**k)) for k in (0, 1)]


OPTIMIZER: Optimizer = linear_memory.optimizer(
    gd.weights,
    gd.step,
    shuffled=lambda c: False,
    experiment=experiment,
    diffusion=diffusion,
    name="sgd",
    title="SGD with replacement",
    settings=("batch_size", "train_size"),
    highest_order=1,
    update=r"\theta \leftarrow \theta - \eta\,(g_B + \lambda\theta),\quad B \text{ drawn independently}",
    twin=r"d\theta = -(g + \lambda\theta)\,dt + \sqrt{\eta\,\Sigma/b}\;dW",
    assumptions=(
        "every example of every batch is drawn independently",
        "means of smooth functions over finite times, not single paths",
    ),
    clocks=(
        "T_SGD: variance of size lr/b per unit of time, so (1/b) sum lr^2 over a run",
        "T_L2: decay shrinks every weight by the same factor",
    ),
    references=("li2017stochastic", "li2019stochastic", "blanc2020implicit", "damian2021label", "li2022what"),
)
