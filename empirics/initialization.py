r"""Random starts: He-normal kernels times a scale.

The kernels of a run are :math:`w = \sigma_w \sqrt{2/\text{fan-in}}\; z` with :math:`z` standard normal
and fixed by the seed: the same seed at another scale is the same direction at another length. The
linear head is not scaled, since no BatchNorm follows it; its weights have variance 1/fan-in and its
bias is zero.
"""

import math
from collections.abc import Sequence

import torch
from torch import nn

from .layers import PackedConv2d, PackedLinear
from .randomness import Stream, generator


@torch.no_grad()
def initialize(network: nn.Module, starts: Sequence[tuple[float, int]]) -> None:
    """Draw the start of every member in place.

    Parameters
    ----------
    network : Module
        A packed network with as many members as there are starts.
    starts : sequence of (init_scale, seed)
    """
    for member, (init_scale, seed) in enumerate(starts):
        random = generator(Stream.INITIALIZATION, seed)
        for module in network.modules():
            if not isinstance(module, PackedConv2d | PackedLinear):
                continue
            weight = module.weight[member]
            variance = (2 if isinstance(module, PackedConv2d) else 1) / weight[0].numel()
            scale = init_scale if isinstance(module, PackedConv2d) else 1.0
            normal = torch.from_numpy(random.standard_normal(tuple(weight.shape)))
            weight.copy_(scale * math.sqrt(variance) * normal)
