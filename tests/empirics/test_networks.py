"""A packed member computes what a plain network with its weights computes."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from initmem.empirics.initialization import initialize
from initmem.empirics.layers import PackedConv2d
from initmem.empirics.networks import ResNet9, kernels

STARTS = [(0.1, 0), (1.0, 0), (2.5, 7)]


class Plain(nn.Module):
    """ResNet-9 of ordinary torch modules: the oracle."""

    def __init__(self, width: int, channels: int, classes: int) -> None:
        super().__init__()
        c1, c2, c3, c4 = (width * factor for factor in (1, 2, 4, 8))
        shapes = [(channels, c1), (c1, c2), (c2, c2), (c2, c2), (c2, c3), (c3, c4), (c4, c4), (c4, c4)]
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
            for i, o in shapes
        )
        self.head = nn.Linear(c4, classes)

    def kernels(self) -> list[torch.Tensor]:
        return [module.weight for module in self.modules() if isinstance(module, nn.Conv2d)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def block(x: torch.Tensor, k: int, pool: bool = False) -> torch.Tensor:
            x = self.blocks[k](x)
            return F.max_pool2d(x, 2) if pool else x

        x = block(block(x, 0), 1, pool=True)
        x = x + block(block(x, 2), 3)
        x = block(block(x, 4, pool=True), 5, pool=True)
        x = x + block(block(x, 6), 7)
        return self.head(x.amax((2, 3)))


def unpack(packed: ResNet9, member: int, channels: int, classes: int) -> Plain:
    plain = Plain(packed.stem.conv.weight.shape[1], channels, classes).double()
    with torch.no_grad():
        for mine, theirs in zip(plain.kernels(), kernels(packed).values(), strict=True):
            mine.copy_(theirs[member])
        plain.head.weight.copy_(packed.head.weight[member])
        plain.head.bias.copy_(packed.head.bias[member])
    return plain


@pytest.mark.parametrize("channels", [1, 3])
def test_members_equal_plain_networks_in_double_precision(channels: int) -> None:
    torch.manual_seed(0)
    packed = ResNet9(members=len(STARTS), width=3, channels=channels, classes=5).double()
    initialize(packed, STARTS)
    images = torch.randn(6, len(STARTS), channels, 8, 8, dtype=torch.float64)
    labels = torch.randint(5, (len(STARTS), 6))
    logits = packed(images.flatten(1, 2))
    F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum").backward()
    packed.eval()
    evaluated = packed(images.flatten(1, 2))
    for member in range(len(STARTS)):
        plain = unpack(packed, member, channels, 5)
        alone = plain(images[:, member])
        F.cross_entropy(alone, labels[member], reduction="sum").backward()
        # Summation order differs: some hundred terms of order one, in double precision.
        torch.testing.assert_close(logits[member], alone, rtol=1e-10, atol=1e-12)
        for mine, theirs in zip(plain.kernels(), kernels(packed).values(), strict=True):
            assert theirs.grad is not None
            # Gradients of a scale-invariant weight grow as it shrinks.
            size = mine.std().item()
            torch.testing.assert_close(theirs.grad[member], mine.grad, rtol=1e-8, atol=1e-10 / size)
        plain.eval()  # with the running statistics of the one step above
        torch.testing.assert_close(evaluated[member], plain(images[:, member]), rtol=1e-9, atol=1e-11)


def test_parameter_count_and_roles() -> None:
    network = ResNet9(members=1, width=64, channels=3, classes=10)
    convolutions = 9 * (3 * 64 + 64 * 128 + 2 * 128**2 + 128 * 256 + 256 * 512 + 2 * 512**2)
    norms = 2 * (64 + 3 * 128 + 256 + 3 * 512)
    assert sum(p.numel() for p in network.parameters()) == convolutions + norms + 512 * 10 + 10
    assert sum(k.numel() for k in kernels(network).values()) == convolutions
    assert list(kernels(network)) == [
        "stem", "down1", "residual1.0", "residual1.1", "down2", "down3", "residual2.0", "residual2.1",
    ]  # fmt: skip


def test_kernels_are_scale_invariant() -> None:
    torch.manual_seed(0)
    network = ResNet9(members=1, width=4, channels=1, classes=10).double()
    initialize(network, [(1.0, 0)])
    images = torch.randn(32, 1, 8, 8, dtype=torch.float64)
    labels = torch.randint(10, (32,))
    F.cross_entropy(network(images)[0], labels).backward()
    for weight in kernels(network).values():
        assert weight.grad is not None
        # <w, grad> = 0 up to BatchNorm's epsilon, which enters relative to the variance it is added to.
        cosine = F.cosine_similarity(weight.flatten(), weight.grad.flatten(), dim=0)
        assert abs(cosine.item()) < 1e-3


def test_start_is_he_normal_times_the_scale() -> None:
    network = ResNet9(members=3, width=32, channels=3, classes=10)
    initialize(network, [(1.0, 3), (0.1, 3), (1.0, 4)])
    for module in network.modules():
        if isinstance(module, PackedConv2d):
            weight = module.weight.detach()
            std = (2 / weight[0, 0].numel()) ** 0.5
            count = weight[0].numel()
            # The sample deviation of n normals has relative standard error 1/sqrt(2n).
            assert weight[0].std().item() == pytest.approx(std, rel=4 / (2 * count) ** 0.5)
            torch.testing.assert_close(weight[1], 0.1 * weight[0])  # the same seed: the same direction
            assert not torch.allclose(weight[2], weight[0])
    head = network.head.weight.detach()
    torch.testing.assert_close(head[1], head[0])  # the head is not scaled
    assert head[0].std().item() == pytest.approx((1 / 256) ** 0.5, rel=4 / (2 * 2560) ** 0.5)
    assert not network.head.bias.any()
