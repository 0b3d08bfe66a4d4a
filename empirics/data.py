"""Images as tensors: a fixed split into training, validation and test set."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .config import DataConfig
from .randomness import Stream, generator


@dataclass(frozen=True)
class Split:
    """Images, float32 of shape (n, channels, height, width), and labels, int64 of shape (n,)."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Dataset:
    """The three splits and the number of classes."""

    train: Split
    validation: Split
    test: Split
    classes: int


def load(config: DataConfig, train_size: int) -> Dataset:
    """Load, split, standardise by the training pixels and add the noise, all fixed by the seed.

    Parameters
    ----------
    config : DataConfig
    train_size : int
        Images in the training set.

    Examples
    --------
    >>> digits = load(DataConfig(), train_size=500)
    >>> len(digits.train), len(digits.validation), len(digits.test)
    (500, 297, 1000)
    """
    # Imported here: it costs a second, and only a process that trains pays it.
    from sklearn.datasets import load_digits

    bunch = load_digits()
    pixels = np.asarray(bunch["data"], dtype=np.float64).reshape(-1, 1, 8, 8) / 16
    labels = np.asarray(bunch["target"], dtype=np.int64)
    used = train_size + config.validation_size
    order = generator(Stream.SPLIT, config.split_seed).permutation(len(labels))
    pixels, labels = pixels[order], labels[order]
    pixels = (pixels - pixels[:train_size].mean()) / pixels[:train_size].std()
    noise = generator(Stream.PIXEL_NOISE, config.split_seed).standard_normal(pixels.shape)
    images = torch.from_numpy((pixels + config.pixel_noise * noise).astype(np.float32))
    targets = torch.from_numpy(labels)
    return Dataset(
        train=Split(images[:train_size], targets[:train_size]),
        validation=Split(images[train_size:used], targets[train_size:used]),
        test=Split(images[used:], targets[used:]),
        classes=int(labels.max()) + 1,
    )
