"""From a recipe to torch optimizers, and which tensor goes to which of them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ..theory.recipe import Recipe
from .muon import Muon
from .networks import kernels


def build(network: nn.Module, recipe: Recipe) -> Sequence[torch.optim.Optimizer]:
    """The optimizers of a recipe; Muon takes the kernels and leaves the rest to AdamW.

    Every group carries ``lr_ratio``, its peak rate over the recipe's, so that the loop sets the rate
    of every group from the one schedule. SGD, Adam and AdamW decay every tensor, as torch does by
    default; Muon decays the kernels alone.

    Parameters
    ----------
    network : Module
        A packed network.
    recipe : Recipe

    Returns
    -------
    sequence of Optimizer
    """
    lr, decay = recipe.lr, recipe.weight_decay
    everything: Any = [{"params": list(network.parameters()), "lr_ratio": 1.0}]
    match recipe.optimizer:
        case "sgd":
            momentum = recipe.momentum_coefficient
            return [torch.optim.SGD(everything, lr, momentum=momentum, weight_decay=decay, fused=True)]
        case "adam":
            return [torch.optim.Adam(everything, lr, weight_decay=decay, fused=True)]
        case "adamw":
            return [torch.optim.AdamW(everything, lr, weight_decay=decay, fused=True)]
        case "muon":
            matrices = list(kernels(network).values())
            taken = {id(weight) for weight in matrices}
            rest = [weight for weight in network.parameters() if id(weight) not in taken]
            return [
                Muon(
                    [{"params": matrices, "lr_ratio": 1.0}],
                    lr,
                    weight_decay=decay,
                    momentum=recipe.momentum_coefficient,
                ),
                torch.optim.AdamW(
                    [{"params": rest, "lr_ratio": recipe.auxiliary_rate / lr}],
                    recipe.auxiliary_rate,
                    weight_decay=0.0,
                    fused=True,
                ),
            ]
