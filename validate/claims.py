"""The paper's claims, each with the test that this data can make of it and the verdict.

Every test finds its cells by what they are, not by their names, so it works on any sweep; where the
sweep lacks the cells, the verdict is "not tested". No verdict goes beyond the interval behind it:

- *supported*: the interval lies where the claim puts it;
- *contradicted*: the interval lies elsewhere;
- *underpowered*: the interval covers both.

Two cells *remember alike* if the whole interval of the difference of their radial memories lies within
0.1, and that of their spreads within a third of the larger one; they do not if one of the differences is
larger than that and its interval excludes zero. These margins do not grow with the noise, so noisy data
make a verdict underpowered, but for the few in a hundred that an interval misses. Cells of which fewer
than 80% of the runs interpolate are no evidence: the claims are about networks that fit their data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from ..theory.clocks import CLOCKS
from .evidence import (
    ALIKE_RADIAL,
    ALIKE_SPREAD,
    FAR_LESS,
    Evidence,
    close,
    name,
    radial_pair,
    radial_text,
    remembers_more,
    same_memory,
    spread_text,
    with_interval,
)
from .regression import ClockRegression

Verdict = Literal["supported", "contradicted", "underpowered", "not tested"]


# A spread below this many percentage points counts as forgetting: the paper's Muon is at 4.
FORGOTTEN = 5.0


# How alikeness is decided, for the reader of a verdict; see `same_memory`.
ALIKE = (
    f"the intervals put the difference of radial memory within {ALIKE_RADIAL:g} and that of spread within "
    f"{ALIKE_SPREAD:.0%} of the larger"
)


@dataclass(frozen=True)
class Claim:
    """A claim, what was reported, how it was tested here, and what came out.

    Attributes
    ----------
    number : str
        Of the paper's result, or a letter for a test that goes beyond the paper.
    statement, reported, test, numbers : str
        The claim, the paper's numbers, the test in words, the numbers found here.
    verdict : {"supported", "contradicted", "underpowered", "not tested"}
    """

    number: str
    statement: str
    reported: str
    test: str
    numbers: str
    verdict: Verdict


def claims(
    table: pd.DataFrame,
    cells: pd.DataFrame,
    radial: pd.DataFrame,
    fits: Sequence[ClockRegression],
    rounds: int = 2000,
    random_state: int = 0,
) -> list[Claim]:
    """Test every claim that the data can speak to.

    Parameters
    ----------
    table, cells, radial : DataFrame
        Runs, spreads and radial memory.
    fits : sequence of ClockRegression
    rounds, random_state : int
        Of the bootstrap of differences.

    Returns
    -------
    list of Claim
        The eight results of the paper in their order, then three tests that it did not make.
    """
    evidence = Evidence(table, cells, radial, fits, rounds, random_state)
    return [test(evidence) for test in TESTS]


def _low_lr_sgd_remembers(evidence: Evidence) -> Claim:
    cell = evidence.low_lr_sgd()
    verdict, numbers = _untested("no plain SGD cell whose runs fit the training data")
    if cell is not None:
        numbers = (
            f"{spread_text(cell)}; {100 * cell.interpolated:.0f}% of its runs reach 99.5% train "
            f"accuracy; T_SGD = {cell.T_SGD:.2g}"
        )
        verdict = _verdict(
            supported=cell.spread_low > cell.floor_95 and cell.interpolated == 1,
            contradicted=cell.spread_high < FORGOTTEN,
        )
    return Claim(
        "1",
        "Low-lr SGD remembers its start although it fits the training data.",
        "26.5 pp at T_SGD = 7.3e-4 (ResNet-9, CIFAR-10)",
        "Spread interval of the plain SGD cell of lowest lr above the 95% noise floor, all runs "
        f"interpolating; contradicted if the interval lies below {FORGOTTEN:g} pp.",
        numbers,
        verdict,
    )


def _long_training_changes_nothing(evidence: Evidence) -> Claim:
    first = evidence.low_lr_sgd()
    pairs = [p for p in evidence.pairs(evidence.sgd(), "epochs") if first and p[0].lr == first.lr]
    verdict, numbers = _untested("no two plain SGD cells that differ in epochs alone")
    if pairs:
        short, long = pairs[-1]
        gap = evidence.difference(long, short, at_end=True)
        floor = max(short.floor_95, long.floor_95)
        numbers = (
            f"{name(long)} minus {name(short)} ({long.epochs} against {short.epochs} epochs) at the "
            f"end: {with_interval(*gap)}, at the checkpoint: {long.spread - short.spread:.1f} pp, 95% "
            f"noise floor {floor:.1f} pp; {radial_pair(long, short)}"
        )
        verdict = _verdict(**same_memory(long, short, gap))
    return Claim(
        "2",
        "Training far longer at the low rate leaves the spread unchanged.",
        "about 26 pp after 5,000 epochs",
        f"The two remember alike at the end of training: {ALIKE} (checkpoints chosen before the shorter run "
        "ends are the same ones, and cannot tell).",
        numbers,
        verdict,
    )


def _adaptive_methods_forget(evidence: Evidence) -> Claim:
    sgd, adaptive = evidence.low_lr_sgd(), evidence.longest_adaptive()
    verdict, numbers = _untested("no plain SGD cell beside an adaptive one")
    if sgd is not None and adaptive:
        excess = [evidence.difference(cell, sgd, share=FAR_LESS) for cell in adaptive]
        numbers = f"{spread_text(sgd)}; " + "; ".join(map(spread_text, adaptive))
        verdict = _verdict(
            supported=all(high < 0 for _, _, high in excess),
            contradicted=any(low > 0 for _, low, _ in excess),
        )
    return Claim(
        "3",
        "Muon, Adam and AdamW with a long clock depend on the start far less than low-lr SGD.",
        "about 4.0 pp for Muon; largely erased for Adam and AdamW",
        f"Spread of each optimizer's longest clock below {FAR_LESS:g} times that of low-lr SGD, by the "
        "interval of the difference.",
        numbers,
        verdict,
    )


def _weight_decay_erases(evidence: Evidence) -> Claim:
    decayed = evidence.cells[(evidence.cells.optimizer == "sgd") & (evidence.cells.T_L2 >= 1)]
    verdict, numbers = _untested("no SGD cell with T_L2 of 1 or more that fits the training data")
    if len(decayed):
        cell: Any = next(decayed.sort_values("T_L2", ascending=False).itertuples())
        numbers = f"{spread_text(cell)}, {cell.spread_final:.1f} pp at the end; T_L2 = {cell.T_L2:.2g}"
        verdict = _verdict(supported=cell.spread_high < FORGOTTEN, contradicted=cell.spread_low > FORGOTTEN)
    return Claim(
        "4",
        "SGD with L2 and a long decay clock forgets its start.",
        "0.3 pp at weight_decay = 1e-2, lr = 1e-2",
        f"Spread interval of the SGD cell of longest T_L2 below {FORGOTTEN:g} pp, at the checkpoint.",
        numbers,
        verdict,
    )


def _large_batches_remember(evidence: Evidence) -> Claim:
    pairs = list(evidence.pairs(evidence.sgd(), "batch_size"))
    verdict, numbers = _untested("no two plain SGD cells that differ in batch size alone")
    if pairs:
        small, large = pairs[0][0], pairs[-1][1]
        gap = evidence.difference(large, small)
        numbers = (
            f"b = {large.batch_size} minus b = {small.batch_size}: {with_interval(*gap)}; "
            f"{radial_pair(large, small)}"
        )
        verdict = _verdict(**remembers_more(large, small, gap))
    return Claim(
        "5",
        "Under SGD larger batches forget more slowly.",
        "spread grows with the batch size, 16 to 256",
        "The largest batch whose runs fit remembers more than the smallest: the interval of the difference "
        "in radial memory, or in spread, lies above zero, and the other does not lie below.",
        numbers,
        verdict,
    )


def _norms_tell(evidence: Evidence) -> Claim:
    sgd, adaptive = evidence.low_lr_sgd(), evidence.longest_adaptive()
    verdict, numbers = _untested("no plain SGD cell beside an adaptive one")
    if sgd is not None and adaptive:
        numbers = "; ".join(map(radial_text, (sgd, *adaptive)))
        verdict = _verdict(
            supported=sgd.slope_low > 0.5 and all(cell.slope_high < 0.5 for cell in adaptive),
            contradicted=sgd.slope_high < 0.5 or any(cell.slope_low > 0.5 for cell in adaptive),
        )
    return Claim(
        "6",
        "The final norm follows the initial norm under low-lr SGD and is common under adaptive methods.",
        "shown in a figure",
        "Radial memory above 1/2 for low-lr SGD and below 1/2 for each optimizer's longest clock.",
        numbers,
        verdict,
    )


def _depth(evidence: Evidence) -> Claim:
    verdict, numbers = _untested("this sweep trains no network of that depth")
    return Claim(
        "7",
        "In ResNet-56 and ResNet-110 poor forgetting shows as failure to interpolate at large scales.",
        "shown in a figure",
        "None: deep networks are needed.",
        numbers,
        verdict,
    )


def _clocks_not_epochs(evidence: Evidence) -> Claim:
    own = [f for f in evidence.fits if f.cells == "in_force" and f.at == "horizon"]
    epochs = next((f for f in evidence.fits if f.clock == "epochs" and f.cells == "all"), None)
    verdict, numbers = _untested("too few cells with different clocks")
    if own:
        against = "all cells have the same epochs" if epochs is None else _slope(epochs)
        numbers = "; ".join(map(_slope, own)) + f"; against {against} over all cells"
        verdict = _verdict(
            supported=len(own) == len(CLOCKS)
            and all(f.ci_[1] < 0 for f in own)
            and (epochs is None or epochs.ci_[1] >= 0),
            contradicted=any(f.ci_[0] > 0 for f in own),
        )
    return Claim(
        "8",
        "The unit of forgetting is accumulated regularization, not the number of epochs.",
        "argued from all sweeps together",
        "Log spread falls with each log clock over all cells that it governs (interval of the slope below "
        "zero), and not with log epochs.",
        numbers,
        verdict,
    )


def _one_clock_two_routes(evidence: Evidence) -> Claim:
    sgd = list(evidence.sgd().itertuples())
    pairs = [
        (a, b)
        for a in sgd
        for b in sgd
        if a.batch_size < b.batch_size and a.lr == b.lr and close(a.T_SGD, b.T_SGD)
    ]
    verdict, numbers = _untested("no two plain SGD cells reach one T_SGD by batch and by epochs")
    if pairs:
        small, long = pairs[0]
        gap = evidence.difference(small, long)
        numbers = (
            f"b = {small.batch_size}, {small.epochs} epochs (T_SGD = {small.T_SGD:.3g}) minus "
            f"b = {long.batch_size}, {long.epochs} epochs ({long.T_SGD:.3g}): {with_interval(*gap)}; "
            f"{radial_pair(small, long)}"
        )
        verdict = _verdict(**same_memory(small, long, gap))
    return Claim(
        "A",
        "One T_SGD leaves one memory, whether a small batch or many epochs reach it.",
        "not tested in the paper; follows from T_SGD as the clock",
        f"The two cells remember alike: {ALIKE}.",
        numbers,
        verdict,
    )


def _effective_rate(evidence: Evidence) -> Claim:
    cells = evidence.cells
    heavy = cells[(cells.optimizer == "sgd") & (cells.momentum > 0) & (cells.weight_decay == 0)]
    pairs = [
        (a, b)
        for a in heavy.itertuples()
        for b in evidence.sgd().itertuples()
        if (a.batch_size, a.epochs) == (b.batch_size, b.epochs) and close(a.lr / (1 - a.momentum), b.lr)
    ]
    verdict, numbers = _untested("no SGD cells with and without momentum at one effective rate")
    if pairs:
        momentum, plain = pairs[0]
        gap = evidence.difference(momentum, plain)
        numbers = (
            f"{name(momentum)} minus {name(plain)}, both at effective rate {plain.lr:g}: "
            f"{with_interval(*gap)}; {radial_pair(momentum, plain)}"
        )
        verdict = _verdict(**same_memory(momentum, plain, gap))
    return Claim(
        "B",
        "Momentum acts through the effective rate lr / (1 - momentum).",
        "not tested in the paper; the convention of the clocks",
        f"The two cells remember alike: {ALIKE}.",
        numbers,
        verdict,
    )


def _clock_not_optimizer(evidence: Evidence) -> Claim:
    pairs = [
        (cells[0], cells[-1]) for cells in evidence.adaptive() if cells[-1].T_adapt > 2 * cells[0].T_adapt
    ]
    verdict, numbers = _untested("no adaptive optimizer with a short and a long clock")
    if pairs:
        gaps = [evidence.difference(short, long) for short, long in pairs]
        numbers = "; ".join(
            f"{short.optimizer} at T_adapt = {short.T_adapt:.2g} minus {long.T_adapt:.2g}: "
            f"{with_interval(*gap)}"
            for (short, long), gap in zip(pairs, gaps, strict=True)
        )
        verdict = _verdict(
            supported=all(low > 0 for _, low, _ in gaps),
            contradicted=any(high <= 0 for _, _, high in gaps),
        )
    return Claim(
        "C",
        "The name of the optimizer does not decide: an adaptive method remembers with a short clock and "
        "forgets with a long one.",
        "not tested in the paper; follows from T_adapt as the clock",
        "Interval of the difference between the shortest and the longest T_adapt above zero.",
        numbers,
        verdict,
    )


TESTS = (
    _low_lr_sgd_remembers,
    _long_training_changes_nothing,
    _adaptive_methods_forget,
    _weight_decay_erases,
    _large_batches_remember,
    _norms_tell,
    _depth,
    _clocks_not_epochs,
    _one_clock_two_routes,
    _effective_rate,
    _clock_not_optimizer,
)


def _verdict(supported: bool, contradicted: bool) -> Verdict:
    # Comparisons with the NaN of a missing interval are false: no interval, no verdict.
    return "supported" if supported else "contradicted" if contradicted else "underpowered"


def _untested(reason: str) -> tuple[Verdict, str]:
    return "not tested", reason


def _slope(fit: ClockRegression) -> str:
    return f"{fit.clock} {with_interval(fit.coef_, *fit.ci_, '', 2)}, n = {fit.n_cells_}"
