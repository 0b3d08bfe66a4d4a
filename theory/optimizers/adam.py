r"""Adam without weight decay: an averaged gradient over the root of averaged squares.

For :math:`\varepsilon \gg g^2` its first correction is that of momentum. For
:math:`\varepsilon \to 0` it is proportional to
:math:`\frac{1+\beta_1}{1-\beta_1}-\frac{1+\beta_2}{1-\beta_2}`, which is negative for the usual
constants: the 1-norm of the gradient is then anti-regularised.
"""

import sympy as sp

from ..backward_error.lag import average
from . import adaptive
from .constants import Constants


def weights(c: Constants) -> tuple[sp.Expr, sp.Expr]:
    """Exponential averages of gradient and squared gradient."""
    return average(c.beta1), average(c.beta2)


UPDATE = (
    r"m \leftarrow \beta_1 m + (1-\beta_1)\, g,\quad v \leftarrow \beta_2 v + (1-\beta_2)\, g^2,\quad "
    r"\theta \leftarrow \theta - \eta\,\hat m/\sqrt{\hat v + \varepsilon}"
)
ASSUMPTIONS = (
    "eps stands inside the root; torch adds its eps outside, which agrees where v is far above eps",
    "full batch, or gradients whose noise is far below their size",
    "the bias correction is over: more than a few times 1/(1 - beta2) updates have been made",
)

OPTIMIZER = adaptive.optimizer(
    weights,
    name="adam",
    title="Adam",
    settings=("beta1", "beta2", "eps"),
    decay_laws=(),
    update=UPDATE,
    twin=r"\dot\theta_j = -g_j/\sqrt{g_j^2 + \varepsilon}",
    assumptions=ASSUMPTIONS,
    clocks=("T_adapt: updates have a size of their own, so the flow runs for the summed learning rates",),
    references=("kingma2015adam", "cattaneo2024implicit", "ma2022qualitative", "malladi2022sdes"),
)
