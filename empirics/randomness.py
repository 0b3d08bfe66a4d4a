"""Independent random streams, each a pure function of a seed and a name.

Initialization, data order and data set draw from streams of their own, so that changing one of them
leaves the others as they were, and no global state is read or changed. The numbers come from numpy,
whose streams are stable across versions and machines.
"""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a stream is for. The values are part of every result: never renumber them."""

    SPLIT = 0
    PIXEL_NOISE = 1
    INITIALIZATION = 2
    DATA_ORDER = 3


def generator(stream: Stream, seed: int, *keys: int) -> np.random.Generator:
    """The generator of one stream.

    Parameters
    ----------
    stream : Stream
    seed : int
    *keys : int
        Further coordinates, such as the epoch.

    Examples
    --------
    >>> a, b = generator(Stream.DATA_ORDER, 0, 1), generator(Stream.DATA_ORDER, 0, 1)
    >>> bool((a.permutation(100) == b.permutation(100)).all())
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream, *keys)))
