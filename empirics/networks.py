"""BatchNorm ResNet-9, for any number of members at once."""

from torch import Tensor, nn
from torch.nn import functional as F

from .config import NetworkConfig
from .layers import PackedBatchNorm2d, PackedConv2d, PackedLinear


class ConvBlock(nn.Module):
    """Convolution, BatchNorm, ReLU, and where asked a 2x2 max pooling."""

    def __init__(self, members: int, inputs: int, outputs: int, pool: bool = False) -> None:
        super().__init__()
        self.conv = PackedConv2d(members, inputs, outputs)
        self.norm = PackedBatchNorm2d(members, outputs)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        """Of (batch, members*inputs, height, width)."""
        x = F.relu(self.norm(self.conv(x)))
        return F.max_pool2d(x, 2) if self.pool else x


class ResNet9(nn.Module):
    """Eight 3x3 convolutions with BatchNorm, two of the pairs residual, and a linear head.

    Parameters
    ----------
    members : int
        Networks held side by side.
    width : int
        Channels of the first layer; the stages have 1, 2, 4 and 8 times as many.
    channels, classes : int
        Of the images.

    Examples
    --------
    >>> import torch
    >>> network = ResNet9(members=2, width=4, channels=1, classes=10)
    >>> tuple(network(torch.zeros(5, 2 * 1, 8, 8)).shape)  # (members, batch, classes)
    (2, 5, 10)
    """

    def __init__(self, members: int, width: int, channels: int, classes: int) -> None:
        super().__init__()
        self.members = members
        c1, c2, c3, c4 = (width * factor for factor in (1, 2, 4, 8))
        self.stem = ConvBlock(members, channels, c1)
        self.down1 = ConvBlock(members, c1, c2, pool=True)
        self.residual1 = nn.Sequential(ConvBlock(members, c2, c2), ConvBlock(members, c2, c2))
        self.down2 = ConvBlock(members, c2, c3, pool=True)
        self.down3 = ConvBlock(members, c3, c4, pool=True)
        self.residual2 = nn.Sequential(ConvBlock(members, c4, c4), ConvBlock(members, c4, c4))
        self.head = PackedLinear(members, c4, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (members, batch, classes) of images (batch, members*channels, height, width)."""
        x = self.down1(self.stem(x))
        x = x + self.residual1(x)
        x = self.down3(self.down2(x))
        x = x + self.residual2(x)
        return self.head(x.amax((2, 3)))


def build(config: NetworkConfig, members: int, channels: int, classes: int) -> ResNet9:
    """The network of a configuration, its weights not yet drawn."""
    return ResNet9(members, config.width, channels, classes)


def kernels(network: nn.Module) -> dict[str, nn.Parameter]:
    """The convolution kernels by name: the weights that BatchNorm makes scale-invariant.

    Returns
    -------
    dict of str to Parameter, each of shape (members, out, in, k, k)
    """
    return {
        name.removesuffix(".conv"): module.weight
        for name, module in network.named_modules()
        if isinstance(module, PackedConv2d)
    }
