r"""Adam with L2: the decay is part of the gradient and passes through the normaliser.

A weight that no gradient holds then moves by about :math:`\eta` per update whatever :math:`\lambda` is:
there is no exponential clock of decay.
"""

from . import adaptive
from .adam import ASSUMPTIONS, UPDATE, weights

OPTIMIZER = adaptive.optimizer(
    weights,
    name="adam-l2",
    title="Adam with coupled L2",
    settings=("beta1", "beta2", "eps"),
    decay_laws=("coupled",),
    update=r"g \leftarrow g + \lambda\theta,\quad " + UPDATE,
    twin=r"\dot\theta_j = -(g_j + \lambda\theta_j)/\sqrt{(g_j + \lambda\theta_j)^2 + \varepsilon}",
    assumptions=ASSUMPTIONS,
    clocks=(
        "T_adapt: a weight without gradient moves by about lr per update, whatever weight_decay is; "
        "T_L2 is not in force",
    ),
    references=("kingma2015adam", "loshchilov2019decoupled", "cattaneo2024implicit"),
)
