"""What the trainer adds up for the clock of every kernel, against loops written out; and runs without it."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from initmem.empirics import optimizers, store
from initmem.empirics.config import Sweep
from initmem.empirics.data import load
from initmem.empirics.initialization import initialize
from initmem.empirics.networks import ResNet9, build, kernels
from initmem.empirics.radial_clock import RadialClock, measured_age
from initmem.empirics.randomness import Stream, generator
from initmem.empirics.table import gather
from initmem.empirics.training import train
from initmem.theory.errors import InvalidInput

LAYERS = ["stem", "down1", "residual1.0", "residual1.1", "down2", "down3", "residual2.0", "residual2.1"]

RECIPES = [
    {"schedule": "cosine", "momentum": 0.9, "weight_decay": 0.1},
    {"optimizer": "muon", "lr": 0.02, "auxiliary_lr": 1e-3, "weight_decay": 0.1},
    {"optimizer": "adam", "lr": 0.01, "weight_decay": 0.1},
]


@pytest.mark.parametrize("fields", RECIPES)
def test_the_columns_are_the_sums_of_a_loop_written_out(small_cell, fields: dict) -> None:
    cell = small_cell(**fields)
    recipe = cell.recipe
    (outcome,) = train(cell, [(0.5, 5)])
    network, data = build(cell.network, 1, 1, 10), load(cell.data, recipe.train_size)
    initialize(network, [(0.5, 5)])
    parts = optimizers.build(network, recipe)
    weights = kernels(network)
    initial = {layer: weight.norm().item() for layer, weight in weights.items()}
    clock, update = dict.fromkeys(LAYERS, 0.0), 0
    for epoch in (1, 2, 3):
        gradients = dict.fromkeys(LAYERS, 0.0)
        order = torch.from_numpy(generator(Stream.DATA_ORDER, 5, epoch).permutation(96))
        for batch in order.split(32):
            lr = float(recipe.learning_rate(np.array([update]))[0])
            for part in parts:
                part.zero_grad()
                for group in part.param_groups:
                    group["lr"] = lr * group["lr_ratio"]
            F.cross_entropy(network(data.train.images[batch])[0], data.train.labels[batch]).backward()
            for layer, weight in weights.items():
                # The rate of the group that the kernel really is in.
                (rate,) = (
                    group["lr"]
                    for part in parts
                    for group in part.param_groups
                    if any(weight is member for member in group["params"])
                )
                assert weight.grad is not None
                gradients[layer] += weight.grad.norm().item() / 3
                clock[layer] += rate**2 * weight.grad.norm().item() ** 2 * weight.norm().item() ** 2
            for part in parts:
                part.step()
            update += 1
        row = outcome.history.iloc[epoch - 1]
        for layer in LAYERS:
            # Single precision, and the loss is summed in another order; nine updates amplify that.
            assert row[f"gradient_norm.{layer}"] == pytest.approx(gradients[layer], rel=1e-3)
            assert row[f"radial_clock.{layer}"] == pytest.approx(clock[layer], rel=1e-3)
            assert row[f"initial_norm.{layer}"] == pytest.approx(initial[layer], rel=1e-6)


@pytest.mark.parametrize("fields", [{}, *RECIPES])
def test_training_is_the_same_bits_without_the_clock(small_cell, fields: dict, monkeypatch) -> None:
    starts = [(0.1, 0), (1.0, 1)]
    measured = train(small_cell(**fields), starts)
    monkeypatch.setattr(RadialClock, "add", lambda self, lr: None)
    for with_clock, without in zip(measured, train(small_cell(**fields), starts), strict=True):
        plain = [c for c in without.history if not c.startswith(("radial_clock.", "gradient_norm."))]
        pd.testing.assert_frame_equal(with_clock.history[plain], without.history[plain], check_exact=True)
        assert str(with_clock.result) == str(without.result)


def test_the_age_says_how_far_norms_have_grown(small_cell) -> None:
    """SGD without momentum and decay; the larger start forgets less, by the fourth power of its scale."""
    one, two = train(small_cell(epochs=20, lr=0.1, batch_size=8), [(1.0, 0), (2.5, 0)])
    for outcome, left_out in ((one, 5e-4), (two, 1e-5)):
        history = outcome.history
        assert [c.partition(".")[2] for c in history if c.startswith("radial_clock.")] == LAYERS
        for layer in LAYERS:
            age = measured_age(history, layer)
            assert (np.diff(age) > 0).all()
            grown = history[f"kernel_norm.{layer}"] / history[f"initial_norm.{layer}"]
            # What the clock leaves out, sum lr^4 |g|^4 / r_0^4, lengthens the norm further, up to rounding.
            short = grown / (1 + age) ** 0.25 - 1
            assert short.abs().max() < left_out
            assert short.min() > -1e-6
    # Rounding grows over the epochs: 0.90 to 1.24 by processor. What counts is that it is no small age.
    assert measured_age(one.history, "stem")[-1] > 0.6
    assert measured_age(two.history, "stem")[-1] < measured_age(one.history, "stem")[-1] / 2.5**2


def test_the_clock_stops_when_the_data_are_fitted(small_cell) -> None:
    (outcome,) = train(small_cell(epochs=60, lr=0.1), [(1.0, 0)])
    history, half = outcome.history, 29
    assert outcome.result["interpolation_epoch"] < half
    assert history.sum_lr_squared.iloc[half] == pytest.approx(history.sum_lr_squared.iloc[-1] / 2)
    for layer in LAYERS:
        age = measured_age(history, layer)
        assert age[half] > 0.9 * age[-1]


def test_histories_from_before_the_clock_still_load(small_cell, tmp_path) -> None:
    sweep = Sweep(name="s", cells=(small_cell("old"),), init_scales=(0.5, 1.0), seeds=(0,))
    store.create(tmp_path / "out", sweep)
    new = ("radial_clock.", "gradient_norm.", "initial_norm.")
    for run, outcome in zip(sweep.runs(), train(sweep.cells[0], [(0.5, 0), (1.0, 0)]), strict=True):
        old = outcome.history[[c for c in outcome.history if not c.startswith(new)]]
        store.write_run(tmp_path / "out", run, old, outcome.result, {})
    table = gather(tmp_path / "out")
    assert table.final_norm.notna().all()
    history = store.read_history(tmp_path / "out", sweep.runs()[0])
    assert "kernel_norm.stem" in history
    with pytest.raises(InvalidInput, match="recorded before there was one, train it again in a new folder"):
        measured_age(history, "stem")


def test_an_unknown_layer_is_refused(small_cell) -> None:
    (outcome,) = train(small_cell(epochs=1), [(1.0, 0)])
    with pytest.raises(InvalidInput, match="layer 'head' has no radial clock.*choose one of stem, down1"):
        measured_age(outcome.history, "head")


@settings(max_examples=20, deadline=None)
@given(
    lrs=st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=6),
    scale=st.floats(0.1, 10.0),
    cut=st.integers(1, 5),
)
def test_the_clock_adds_up_and_has_no_scale(lrs: list[float], scale: float, cut: int) -> None:
    """Scaled weights have gradients scaled down: the clock stays, so the age goes as 1/r_0^4."""
    networks = [with_gradients(1.0), with_gradients(scale)]
    whole, scaled = (RadialClock(network) for network in networks)
    first, second = (RadialClock(networks[0]) for _ in range(2))
    for index, lr in enumerate(lrs):
        before = whole.clock.clone()
        whole.add(lr)
        assert (whole.clock > before).all()
        scaled.add(lr)
        (first if index < cut else second).add(lr)
    torch.testing.assert_close(whole.clock, first.clock + second.clock, rtol=1e-12, atol=0)
    torch.testing.assert_close(whole.clock, scaled.clock, rtol=1e-10, atol=0)


def with_gradients(scale: float) -> ResNet9:
    network = ResNet9(members=2, width=2, channels=1, classes=10).double()
    initialize(network, [(1.0, 0), (1.0, 1)])
    with torch.no_grad():
        for weight in kernels(network).values():
            weight.grad = weight.cos() / scale
            weight *= scale
    return network
