"""The three layers that hold the weights of many networks at once.

The runs of a cell have the same shapes, so M of them train as one network: their channels lie side by
side, a convolution becomes one grouped convolution with a group per member, and BatchNorm over M*C
channels is exact. Nothing mixes members, so each follows its own trajectory, and one that diverges
leaves the others alone. Activations have shape (batch, M*channels, height, width).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class PackedConv2d(nn.Module):
    """M convolutions of size-preserving padding, without bias; weight (M, out, in, k, k)."""

    def __init__(self, members: int, inputs: int, outputs: int, kernel_size: int = 3) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs, kernel_size, kernel_size))

    def forward(self, x: Tensor) -> Tensor:
        """Convolve every member's channels with its own kernels."""
        members, *_, size = self.weight.shape
        x = F.conv2d(x, self.weight.flatten(0, 1), padding=size // 2, groups=members)
        # With one input channel the strides cannot tell the format, and it would fall back to NCHW.
        return x.contiguous(memory_format=torch.channels_last)


class PackedBatchNorm2d(nn.Module):
    """M batch normalisations with affine parameters and running statistics of shape (M, channels)."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, members: int, channels: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(members, channels))
        self.bias = nn.Parameter(torch.zeros(members, channels))
        self.register_buffer("running_mean", torch.zeros(members, channels))
        self.register_buffer("running_var", torch.ones(members, channels))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every channel of every member."""
        return F.batch_norm(
            x,
            self.running_mean.view(-1),
            self.running_var.view(-1),
            self.weight.view(-1),
            self.bias.view(-1),
            self.training,
            self.momentum,
            self.eps,
        )


class PackedLinear(nn.Module):
    """M linear maps; weight (M, out, in), bias (M, out); from (batch, M*in) to (M, batch, out)."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(members, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Apply every member's map to its own features."""
        x = x.view(len(x), len(self.weight), -1).transpose(0, 1)
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)
