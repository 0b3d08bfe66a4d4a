r"""Unordered rooted trees: the terms in which the modified equation of a step is written.

A tree is the sorted tuple of the trees below its root, so ``()`` is a single vertex and ``((), ())``
a root with two leaves. Equal trees are equal tuples.
"""

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement
from math import factorial, prod

from ..errors import InvalidInput

Tree = tuple["Tree", ...]

# 87,811 trees have 14 vertices; the next orders would take minutes and gigabytes.
MAX_ORDER = 14


def rooted_trees(order: int) -> tuple[Tree, ...]:
    """All unordered rooted trees with `order` vertices.

    Parameters
    ----------
    order : int
        Number of vertices, from 1 to 14.

    Returns
    -------
    tuple of Tree

    Raises
    ------
    InvalidInput
        If the order is out of range.

    Examples
    --------
    >>> rooted_trees(3)
    (((), ()), (((),),))
    >>> [len(rooted_trees(n)) for n in range(1, 13)]
    [1, 1, 2, 4, 9, 20, 48, 115, 286, 719, 1842, 4766]
    """
    if not 1 <= order <= MAX_ORDER:
        raise InvalidInput(
            f"trees of order {order} are not available: a tree has at least 1 vertex, and beyond "
            f"{MAX_ORDER} vertices there are too many; give an order between 1 and {MAX_ORDER}."
        )
    return _trees(order)


@cache
def _trees(order: int) -> tuple[Tree, ...]:
    return tuple(sorted(tuple(sorted(forest)) for forest in _forests(order - 1, order - 1)))


@cache
def _forests(vertices: int, largest: int) -> tuple[Tree, ...]:
    """Multisets of trees with `vertices` vertices in all and at most `largest` in one tree."""
    if largest == 0:
        return () if vertices else ((),)
    return tuple(
        chosen + rest
        for copies in range(vertices // largest + 1)
        for rest in _forests(vertices - copies * largest, largest - 1)
        for chosen in combinations_with_replacement(_trees(largest), copies)
    )


def size(tree: Tree) -> int:
    """Number of vertices.

    Examples
    --------
    >>> size(((), ((),)))
    4
    """
    return 1 + sum(map(size, tree))


@cache
def symmetry(tree: Tree) -> int:
    r"""Number of automorphisms :math:`\sigma(\tau) = \prod_i m_i!\,\sigma(\tau_i)^{m_i}`.

    Examples
    --------
    >>> symmetry(((), (), ((),)))
    2
    """
    return prod(factorial(count) * symmetry(child) ** count for child, count in Counter(tree).items())


def tall(order: int) -> Tree:
    """The chain of `order` vertices.

    Examples
    --------
    >>> tall(3)
    (((),),)
    """
    tree: Tree = ()
    for _ in range(order - 1):
        tree = (tree,)
    return tree


def bushy(leaves: int) -> Tree:
    """A root with `leaves` leaves.

    Examples
    --------
    >>> bushy(2)
    ((), ())
    """
    return ((),) * leaves


def label(tree: Tree, field: str = "f") -> str:
    """The elementary differential of a tree as it is written by hand.

    Examples
    --------
    >>> label(((), ((),)))
    "f''(f, f'f)"
    >>> label((((), ()),))
    "f'f''(f, f)"
    """
    below = [label(child, field) for child in sorted(tree, key=lambda child: (size(child), child))]
    head = field + "'" * len(tree)
    return head + (f"({', '.join(below)})" if len(below) > 1 else "".join(below))
