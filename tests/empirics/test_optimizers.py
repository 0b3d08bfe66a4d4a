"""Muon against torch and timm; routing of tensors; decay laws as they act on a packed network."""

from functools import partial
from typing import Any

import pytest
import timm.optim.muon
import torch

from initmem.empirics import optimizers
from initmem.empirics.initialization import initialize
from initmem.empirics.muon import COEFFICIENTS, Muon, newton_schulz
from initmem.empirics.networks import ResNet9, kernels
from initmem.theory.recipe import Recipe

SHAPES = [(16, 16, 1, 1), (32, 8, 1, 1), (8, 32, 1, 1)]


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (3, 6, 6)])
def test_newton_schulz_maps_singular_values_by_the_quintic(shape: tuple[int, ...]) -> None:
    matrices = random(*shape, dtype=torch.float64)
    u, s, vh = torch.linalg.svd(matrices, full_matrices=False)
    s = s / s.norm(dim=-1, keepdim=True)
    a, b, c = COEFFICIENTS
    for _ in range(5):
        s = a * s + b * s**3 + c * s**5
    torch.testing.assert_close(newton_schulz(matrices), u @ torch.diag_embed(s) @ vh)


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_torch_on_matrices(shape: tuple[int, ...]) -> None:
    start = random(*shape)
    mine, matrix = torch.nn.Parameter(start[None].clone()), torch.nn.Parameter(start.flatten(1).clone())
    options: Any = {"lr": 0.1, "weight_decay": 0.5, "momentum": 0.9}
    ours, reference = Muon([mine], **options), torch.optim.Muon([matrix], **options)
    for shift in (0, 1):
        gradient = random(*shape).roll(shift)
        mine.grad, matrix.grad = gradient[None].clone(), gradient.flatten(1).clone()
        ours.step()
        reference.step()
    error = (mine[0].flatten(1) - matrix).norm() / (matrix - start.flatten(1)).norm()
    # torch iterates in bfloat16, whose unit roundoff is 2^-9; the quintic amplifies it several times.
    assert error.item() < 16 * 2**-9


def test_equals_timm_on_convolution_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    iteration = partial(timm.optim.muon.zeropower_via_newtonschulz, dtype=torch.float32)
    monkeypatch.setattr(timm.optim.muon, "zeropower_via_newtonschulz", iteration)
    start = random(8, 4, 3, 3)
    theirs, mine = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start[None].clone())
    options: Any = {"lr": 0.1, "weight_decay": 0.5, "momentum": 0.9}
    reference = timm.optim.muon.Muon(
        [theirs], nesterov=True, ns_coefficients=COEFFICIENTS, adjust_lr_fn="original", **options
    )
    ours = Muon([mine], **options)
    for shift in (0, 1):
        gradient = start.roll(shift + 1)
        mine.grad, theirs.grad = gradient[None].clone(), gradient.clone()
        ours.step()
        reference.step()
    # Single precision through two times five iterations that amplify at most by 3.4445 each.
    torch.testing.assert_close(mine[0], theirs, rtol=1e-4, atol=1e-5)


def test_members_do_not_touch_each_other() -> None:
    weights = random(3, 8, 4, 3, 3)
    packed = torch.nn.Parameter(weights.clone())
    gradient = random(3, 8, 4, 3, 3).roll(1)
    gradient[1] = torch.nan
    packed.grad = gradient.clone()
    Muon([packed], lr=0.1).step()
    assert packed[1].isnan().all()
    for member in (0, 2):
        alone = torch.nn.Parameter(weights[member : member + 1].clone())
        alone.grad = gradient[member : member + 1].clone()
        Muon([alone], lr=0.1).step()
        torch.testing.assert_close(packed[member], alone[0], rtol=1e-5, atol=1e-6)


def network() -> ResNet9:
    built = ResNet9(members=2, width=2, channels=1, classes=10)
    initialize(built, [(1.0, 0), (2.0, 1)])
    return built


def test_muon_takes_the_kernels_and_leaves_the_rest() -> None:
    net = network()
    muon, rest = optimizers.build(net, Recipe(optimizer="muon", lr=0.02, auxiliary_lr=5e-3))
    matrices = {id(p) for p in kernels(net).values()}
    assert {id(p) for p in muon.param_groups[0]["params"]} == matrices
    assert {id(p) for p in rest.param_groups[0]["params"]} == {id(p) for p in net.parameters()} - matrices
    assert isinstance(rest, torch.optim.AdamW)
    assert rest.param_groups[0]["lr_ratio"] * 0.02 == pytest.approx(5e-3)
    assert rest.param_groups[0]["weight_decay"] == 0


@pytest.mark.parametrize(
    ("optimizer", "decay", "left"),
    [
        ("sgd", 0.1, 1 - 0.05 * 0.1),
        ("adamw", 0.1, 1 - 0.05 * 0.1),
        ("muon", 0.1, 1 - 0.05 * 0.1),
        ("muon", 0.0, 1.0),
    ],
)
def test_decay_of_a_kernel_without_gradient(optimizer: str, decay: float, left: float) -> None:
    net = network()
    before = {name: weight.detach().clone() for name, weight in kernels(net).items()}
    recipe = Recipe.model_validate({"optimizer": optimizer, "lr": 0.05, "weight_decay": decay})
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for part in optimizers.build(net, recipe):
        part.step()
    for name, weight in kernels(net).items():
        torch.testing.assert_close(weight.detach(), left * before[name])


def test_adams_l2_moves_by_lr_whatever_the_decay() -> None:
    for decay in (1e-4, 1e-2):
        net = network()
        weight = net.stem.conv.weight
        before = weight.detach().clone()
        for parameter in net.parameters():
            parameter.grad = torch.zeros_like(parameter)
        (adam,) = optimizers.build(net, Recipe(optimizer="adam", lr=1e-3, weight_decay=decay))
        adam.step()
        step = (before - weight.detach()) * before.sign()
        large = step[before.abs() > 0.1]
        # The gradient is decay * |w| >= 1e-5, beside which Adam's eps of 1e-8 is one in a thousand.
        torch.testing.assert_close(large, torch.full_like(large, 1e-3), rtol=2e-3, atol=0)
