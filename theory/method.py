r"""What an optimizer does with a learning rate: its momentum, and on what its weight decay acts."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

OptimizerName = Literal["sgd", "adam", "adamw", "muon"]
DecayLaw = Literal["coupled", "decoupled"]


class Method:
    """What a recipe and a trace have in common; both say which optimizer ran and with which momentum."""

    if TYPE_CHECKING:  # pydantic would make fields of these, in another order than the recipe's
        optimizer: OptimizerName
        momentum: float | None
        weight_decay: Any

    @property
    def momentum_coefficient(self) -> float:
        """Momentum in force: what was given, else 0 for SGD and 0.95 for Muon; 0 for Adam."""
        if self.momentum is not None:
            return self.momentum
        return 0.95 if self.optimizer == "muon" else 0.0

    @property
    def rate_multiplier(self) -> float:
        r""":math:`1/(1-\beta)` under SGD, whose buffer sums gradients; 1 where updates have a fixed size."""
        return 1.0 / (1.0 - self.momentum_coefficient) if self.optimizer == "sgd" else 1.0

    @property
    def decay_law(self) -> DecayLaw:
        """How weight decay acts: inside the gradient (coupled) or on the weights (decoupled)."""
        return "coupled" if self.optimizer in ("sgd", "adam") else "decoupled"

    @property
    def decays_exponentially(self) -> bool:
        """Whether decay shrinks weights by a factor; Adam's normaliser turns its L2 into fixed steps."""
        return bool(np.any(np.asarray(self.weight_decay) > 0)) and self.optimizer != "adam"
