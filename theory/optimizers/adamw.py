r"""AdamW: Adam with decay on the weights, beside the normaliser.

The cross terms of learning rate and decay come from the field moving under decay while the memory
lags, and from the decay being a factor :math:`1-\eta\lambda` and no exponential.
"""

from . import adaptive
from .adam import ASSUMPTIONS, UPDATE, weights

OPTIMIZER = adaptive.optimizer(
    weights,
    name="adamw",
    title="AdamW",
    settings=("beta1", "beta2", "eps"),
    decay_laws=("decoupled", "independent"),
    update=UPDATE + r" - \eta\lambda\theta",
    twin=r"\dot\theta_j = -g_j/\sqrt{g_j^2 + \varepsilon} - \lambda\theta_j",
    assumptions=ASSUMPTIONS,
    clocks=(
        "T_adapt: updates have a size of their own, so the flow runs for the summed learning rates",
        "T_L2: decoupled decay shrinks every weight by the same factor, whatever the gradient",
    ),
    references=("loshchilov2019decoupled", "cattaneo2024implicit", "xie2024implicit"),
)
