r"""RMSProp: the gradient over the root of averaged squares; Adam with :math:`\beta_1 = 0`."""

import sympy as sp

from ..backward_error.lag import NOW, average
from . import adaptive
from .adam import ASSUMPTIONS
from .constants import Constants


def weights(c: Constants) -> tuple[sp.Expr, sp.Expr]:
    """The gradient as it is, over an exponential average of its square."""
    return NOW, average(c.beta2)


OPTIMIZER = adaptive.optimizer(
    weights,
    name="rmsprop",
    title="RMSProp",
    settings=("beta2", "eps"),
    decay_laws=("coupled", "decoupled", "independent"),
    update=(
        r"v \leftarrow \beta_2 v + (1-\beta_2)\, g^2,\quad "
        r"\theta \leftarrow \theta - \eta\, g/\sqrt{\hat v + \varepsilon}"
    ),
    twin=r"\dot\theta_j = -g_j/\sqrt{g_j^2 + \varepsilon}",
    assumptions=ASSUMPTIONS,
    clocks=("T_adapt: updates have a size of their own, so the flow runs for the summed learning rates",),
    references=("tieleman2012rmsprop", "cattaneo2024implicit", "ma2022qualitative", "malladi2022sdes"),
)
