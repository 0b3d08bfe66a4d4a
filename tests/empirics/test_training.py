"""The loop: what it records, that it repeats itself bit for bit, and that members are on their own."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional as F

from initmem.empirics import optimizers
from initmem.empirics.data import load
from initmem.empirics.evaluation import evaluate
from initmem.empirics.initialization import initialize
from initmem.empirics.networks import build
from initmem.empirics.randomness import Stream, generator
from initmem.empirics.training import train
from initmem.theory.clocks import clocks

STARTS = [(0.1, 0), (1.0, 0), (2.5, 1)]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("fields", [{}, {"optimizer": "muon", "lr": 0.02}, {"optimizer": "adam", "lr": 0.01}])
def test_training_again_gives_the_same_bits(small_cell, fields: dict) -> None:
    first, second = (train(small_cell(**fields), STARTS) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(a.history, b.history, check_exact=True)
        assert str(a.result) == str(b.result)


def test_members_follow_their_own_way(small_cell) -> None:
    together = train(small_cell(epochs=1), STARTS)
    for member, start in enumerate(STARTS):
        (alone,) = train(small_cell(epochs=1), [start])
        # The same arithmetic in another order of summation, three updates long.
        np.testing.assert_allclose(
            alone.history.to_numpy(float), together[member].history.to_numpy(float), rtol=2e-4, atol=1e-5
        )


def test_the_loop_is_the_textbook_loop(small_cell) -> None:
    """One member against a loop written out with torch's own pieces."""
    cell = small_cell(schedule="cosine", momentum=0.9, weight_decay=1e-3, epochs=4)
    (outcome,) = train(cell, [(1.0, 5)])
    recipe = cell.recipe
    data = load(cell.data, recipe.train_size)
    network = build(cell.network, 1, 1, 10)
    initialize(network, [(1.0, 5)])
    optimizer = torch.optim.SGD(network.parameters(), lr=recipe.lr, momentum=0.9, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    for epoch in range(1, 5):
        order = torch.from_numpy(generator(Stream.DATA_ORDER, 5, epoch).permutation(96))
        total = 0.0
        for batch in order.split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(network(data.train.images[batch])[0], data.train.labels[batch])
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() / 3
        row = outcome.history.iloc[epoch - 1]
        # Fused and plain SGD round differently; the difference grows over twelve updates.
        assert row.train_loss == pytest.approx(total, rel=1e-3)
        validation, _ = evaluate(network, data.validation, 1)
        assert row.validation_loss == pytest.approx(validation.item(), rel=1e-3)


def test_what_is_recorded(small_cell) -> None:
    cell = small_cell(epochs=5, weight_decay=0.01)
    (outcome,) = train(cell, [(1.0, 0)])
    history, result = outcome.history, outcome.result
    assert history.epoch.tolist() == [1, 2, 3, 4, 5]
    assert history.updates.tolist() == [3, 6, 9, 12, 15]
    layers = [c for c in history if c.startswith("kernel_norm.")]
    assert len(layers) == 8
    np.testing.assert_allclose(history.kernel_norm, np.sqrt((history[layers] ** 2).sum(axis=1)), rtol=1e-5)
    time = clocks(cell.recipe)
    for name in ("T_SGD", "T_L2", "T_adapt", "sum_lr", "sum_lr_squared"):
        assert history[name].iloc[-1] == pytest.approx(getattr(time, name), rel=1e-12)
    best = history.loc[history.validation_loss.idxmin()]
    assert result["selected_epoch"] == best.epoch
    assert result["selected_validation_loss"] == best.validation_loss
    assert result["selected_norm"] == best.kernel_norm
    assert result["T_SGD_selected"] == best.T_SGD
    assert result["final_norm"] == history.kernel_norm.iloc[-1]
    assert (result["diverged"], result["diverged_epoch"]) == (False, None)


def test_interpolation_and_repair(small_cell) -> None:
    (outcome,) = train(small_cell(epochs=30, lr=0.1), [(0.5, 0)])
    history, result = outcome.history, outcome.result
    first = history.loc[history.train_accuracy >= 0.995].iloc[0]
    assert result["interpolation_epoch"] == first.epoch
    assert result["repair_gap"] == history.validation_accuracy.iloc[-1] - first.validation_accuracy
    assert result["reason"] is None


def test_the_selected_checkpoint_is_the_one_that_is_tested(small_cell) -> None:
    long = train(small_cell(epochs=12, lr=0.3), STARTS)
    for member, outcome in enumerate(long):
        best = outcome.result["selected_epoch"]
        again = train(small_cell(epochs=best, lr=0.3), STARTS)[member]
        assert again.result["test_accuracy_final"] == outcome.result["test_accuracy"]


def test_a_diverged_member_is_recorded_and_harms_nobody(small_cell) -> None:
    cell = small_cell(lr=1e30, epochs=4)
    lost = train(cell, [(1.0, 0)])[0]
    assert lost.result["diverged"]
    assert lost.result["diverged_epoch"] == 1
    assert np.isnan(lost.result["final_norm"])
    assert lost.result["reason"].startswith("diverged: the training loss or a kernel norm is not finite")
    assert len(lost.history) == 1

    sane = small_cell(lr=0.05)
    beside = train(sane, [(1.0, 0), (1e38, 0)])
    assert beside[1].result["diverged"]
    assert not beside[0].result["diverged"]
    assert np.isfinite(beside[0].history.to_numpy(float)).all()
    (alone,) = train(sane, [(1.0, 0)])
    assert beside[0].result["final_norm"] == pytest.approx(alone.result["final_norm"], rel=1e-4)


def test_updates_may_end_inside_an_epoch(small_cell) -> None:
    cell = small_cell()
    recipe = cell.recipe.model_validate({"train_size": 96, "batch_size": 32, "updates": 7, "lr": 0.05})
    (outcome,) = train(cell.model_copy(update={"recipe": recipe}), [(1.0, 0)])
    assert outcome.history.updates.tolist() == [3, 6, 7]


def test_keep_last_trains_on_every_image(small_cell) -> None:
    cell = small_cell(train_size=80, drop_last=False, epochs=1)
    (outcome,) = train(cell, [(1.0, 0)])
    assert outcome.history.updates.tolist() == [3]
    # Accuracy is a share of all 80 images, the last batch of 16 included.
    assert (outcome.history.train_accuracy.iloc[0] * 80) % 1 == pytest.approx(0, abs=1e-5)


def test_the_global_random_state_is_left_alone(small_cell) -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    expected = torch.rand(1).item(), np.random.rand()
    torch.manual_seed(1)
    np.random.seed(1)
    train(small_cell(epochs=1), [(1.0, 0)])
    assert (torch.rand(1).item(), np.random.rand()) == expected


def test_every_optimizer_lowers_the_loss(small_cell) -> None:
    for fields in (
        {"optimizer": "sgd", "lr": 0.05},
        {"optimizer": "sgd", "lr": 0.01, "momentum": 0.9},
        {"optimizer": "adam", "lr": 0.01},
        {"optimizer": "adamw", "lr": 0.01, "weight_decay": 0.1},
        {"optimizer": "muon", "lr": 0.02, "weight_decay": 0.1},
    ):
        cell = small_cell(epochs=8, **fields)
        assert optimizers.build(build(cell.network, 1, 1, 10), cell.recipe)
        history = train(cell, [(1.0, 0)])[0].history
        assert history.train_loss.iloc[-1] < 0.7 * history.train_loss.iloc[0]
