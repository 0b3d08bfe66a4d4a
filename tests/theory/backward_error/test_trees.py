"""Rooted trees against OEIS A000081, a count of labellings, brute force over permutations, and kauri."""

from collections import Counter
from itertools import permutations
from math import factorial, prod

import kauri
import pytest

from initmem.theory.backward_error.trees import (
    Tree,
    bushy,
    label,
    rooted_trees,
    size,
    symmetry,
    tall,
)
from initmem.theory.errors import InvalidInput

A000081 = [1, 1, 2, 4, 9, 20, 48, 115, 286, 719, 1842, 4766]


def vertices(tree: Tree) -> int:
    """Every vertex is one pair of parentheses."""
    return str(tree).count("(")


def tree_factorial(tree: Tree) -> int:
    return vertices(tree) * prod(tree_factorial(child) for child in tree)


def nested(tree: Tree) -> list:
    return [nested(child) for child in tree]


def sorted_tuple(tree: tuple) -> tuple:
    return tuple(sorted(map(sorted_tuple, tree)))


def unordered(tree: Tree) -> frozenset:
    """The tree as nested multisets, in which no order of children is left."""
    return frozenset(Counter(map(unordered, tree)).items())


def parents(tree: Tree) -> list[int]:
    """The parent of every vertex; the root, which is vertex 0, is its own."""
    found = [0]

    def visit(below: Tree, vertex: int) -> None:
        for child in below:
            found.append(vertex)
            visit(child, len(found) - 1)

    visit(tree, 0)
    return found


@pytest.mark.parametrize(("order", "count"), list(enumerate(A000081, start=1)))
def test_counts_are_those_of_the_oeis(order: int, count: int) -> None:
    trees = rooted_trees(order)
    assert len(trees) == count
    # That many different trees of the right size are all of them.
    assert len({unordered(tree) for tree in trees}) == count
    assert {vertices(tree) for tree in trees} == {order}
    assert {size(tree) for tree in trees} == {order}


@pytest.mark.parametrize("order", range(1, 13))
def test_trees_are_sorted_tuples(order: int) -> None:
    assert all(tree == sorted_tuple(tree) for tree in rooted_trees(order))


@pytest.mark.parametrize("order", range(1, 13))
def test_increasing_labellings_add_up(order: int) -> None:
    """A recursive tree grows by one leaf at a time, the k-th at one of k - 1 places: (n - 1)! in all."""
    ways = [divmod(factorial(order), symmetry(tree) * tree_factorial(tree)) for tree in rooted_trees(order)]
    assert {remainder for _, remainder in ways} == {0}
    assert sum(count for count, _ in ways) == factorial(order - 1)


@pytest.mark.parametrize("order", range(1, 13))
def test_labelled_rooted_trees_add_up_to_cayleys_number(order: int) -> None:
    assert sum(factorial(order) // symmetry(tree) for tree in rooted_trees(order)) == order ** (order - 1)


@pytest.mark.parametrize("order", range(1, 7))
def test_symmetry_counts_the_permutations_that_keep_parents(order: int) -> None:
    for tree in rooted_trees(order):
        parent = parents(tree)
        kept = sum(
            all(parent[p[vertex]] == p[parent[vertex]] for vertex in range(order))
            for p in permutations(range(order))
        )
        assert symmetry(tree) == kept, tree


@pytest.mark.parametrize("order", range(1, 8))
def test_trees_and_symmetries_are_those_of_kauri(order: int) -> None:
    theirs = {sorted_tuple(tree.unlabelled_repr): tree for tree in kauri.trees_of_order(order)}
    assert set(rooted_trees(order)) == set(theirs)
    for tree in rooted_trees(order):
        assert symmetry(tree) == theirs[tree].sigma() == kauri.Tree(nested(tree)).sigma()
        assert tree_factorial(tree) == theirs[tree].factorial()


@pytest.mark.parametrize("order", range(1, 9))
def test_the_chain_and_the_bush_are_the_tallest_and_the_widest(order: int) -> None:
    chain, bush = tall(order), bushy(order - 1)
    assert chain in rooted_trees(order)
    assert bush in rooted_trees(order)
    assert parents(chain) == [0, *range(order - 1)]
    assert parents(bush) == [0] * order
    assert symmetry(chain) == 1
    assert symmetry(bush) == factorial(order - 1)


def test_labels_of_all_trees_of_four_vertices() -> None:
    assert {label(tree) for tree in rooted_trees(4)} == {
        "f'f'f'f",
        "f'f''(f, f)",
        "f''(f, f'f)",
        "f'''(f, f, f)",
    }


@pytest.mark.parametrize("order", range(1, 9))
def test_labels_tell_trees_apart(order: int) -> None:
    assert len({label(tree, "g") for tree in rooted_trees(order)}) == A000081[order - 1]


@pytest.mark.parametrize("order", [0, -1, 15, 40])
def test_other_orders_are_refused(order: int) -> None:
    with pytest.raises(InvalidInput, match=f"trees of order {order} are not available.*between 1 and 14"):
        rooted_trees(order)
