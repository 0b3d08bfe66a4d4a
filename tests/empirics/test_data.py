"""The digits, split and standardised."""

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.datasets import load_digits

from initmem.empirics.config import SIZES, Cell, DataConfig
from initmem.empirics.data import load
from initmem.theory.recipe import Recipe


def test_the_splits_are_the_whole_data_set_once() -> None:
    data = load(DataConfig(), train_size=500)
    assert [len(s) for s in (data.train, data.validation, data.test)] == [500, 297, 1000]
    labels = np.concatenate([s.labels.numpy() for s in (data.train, data.validation, data.test)])
    np.testing.assert_array_equal(np.bincount(labels), np.bincount(load_digits()["target"]))
    pixels = np.concatenate(
        [s.images.numpy().reshape(-1, 64) for s in (data.train, data.validation, data.test)]
    )
    raw = load_digits()["data"]
    assert len(raw) == SIZES["digits"]
    # Standardising is one affine map of all pixels: the sorted pixels correspond.
    ours, theirs = np.sort(pixels.ravel()), np.sort(raw.ravel())
    slope = (ours[-1] - ours[0]) / 16
    np.testing.assert_allclose(ours, ours[0] + slope * theirs, atol=1e-5)


def test_training_pixels_are_standardised_and_noise_adds_its_variance() -> None:
    train = load(DataConfig(), train_size=500).train.images
    assert train.mean().item() == pytest.approx(0, abs=1e-5)
    assert train.std(correction=0).item() == pytest.approx(1, rel=1e-5)
    noisy = load(DataConfig(pixel_noise=0.7), train_size=500).train.images
    count = train.numel()
    # sd of the mean square of n normals of variance v is v sqrt(2/n)
    assert (noisy - train).square().mean().item() == pytest.approx(0.49, abs=4 * 0.49 * (2 / count) ** 0.5)


def test_the_split_depends_on_its_seed_alone() -> None:
    a, b, c = (load(DataConfig(split_seed=s), 500).train.labels for s in (0, 0, 1))
    assert bool((a == b).all())
    assert not bool((a == c).all())


def test_no_test_image_left() -> None:
    recipe = Recipe(train_size=1500, batch_size=32)
    with pytest.raises(ValidationError, match="leave no test image of the 1,797"):
        Cell(name="x", recipe=recipe, data=DataConfig(validation_size=297))
