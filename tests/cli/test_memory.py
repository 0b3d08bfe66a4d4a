"""``initmem-theory memory`` as a user types it."""

import json
import math

import pytest

from initmem.theory.models import NAMES, named


def as_json(call, *arguments: str) -> dict:
    status, out, err = call("memory", *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_json_has_prediction_half_life_and_simulation(call) -> None:
    result = as_json(
        call,
        *("imbalance", "--lr", "0.01", "--updates", "400", "--batch-size", "4", "--noise", "8"),
        *("--simulate", "--seeds", "200"),
    )
    for key in ("model", "law", "memory", "half_life_updates", "clock", "simulated", "standard_error"):
        assert result[key] is not None
    age = 400 * 0.01**2 * 64 / 4
    assert (result["age"], result["memory"]) == pytest.approx((age, math.exp(-age)), rel=1e-12)
    assert result["half_life_updates"] == math.ceil(math.log(2) / (age / 400))
    assert result["half_life_epochs"] == pytest.approx(result["half_life_updates"] / 10_000)
    assert result["deviation"] == pytest.approx(
        (result["simulated"] - result["memory"]) / result["standard_error"]
    )
    # First order in lr, of which .01 is left, beside the error of the mean.
    assert abs(result["simulated"] - result["memory"]) < 5 * result["standard_error"] + 0.01
    assert result["settings"] == {"noise": 8.0}


def test_seeds_fix_the_simulation(call) -> None:
    command = (
        "row-space",
        "--updates",
        "50",
        "--lr",
        "0.01",
        "--batch-size",
        "2",
        "--simulate",
        "--seeds",
        "9",
    )
    first, again = (as_json(call, *command, "--seed", "7")["simulated"] for _ in range(2))
    assert first == again != as_json(call, *command)["simulated"]


def test_survival_of_decoupled_decay_is_the_case_of_torch(call) -> None:
    result = as_json(
        call,
        *("null-space", "--optimizer", "adamw", "--weight-decay", "0.1", "--schedule", "cosine"),
        *("--updates", "10000"),
    )
    assert result["memory"] == pytest.approx(0.606489, abs=5e-7)  # torch's AdamW with no gradient
    assert result["law"] == "exact"


def test_the_last_of_many_half_lives_is_beyond_the_recipe(call) -> None:
    status, out, _ = call("memory", "row-space", "--lr", "0.001", "--updates", "100")
    assert status == 0
    half = math.ceil(math.log(0.5) / math.log1p(-0.001))
    assert f"{half:,} updates" in out
    assert "run again and again" in " ".join(out.split())
    status, out, _ = call("memory", "null-space")
    assert "never: nothing is forgotten" in out


@pytest.mark.parametrize("name", NAMES)
def test_every_model_prints_within_eighty_columns(call, name: str) -> None:
    optimizer = named(name).optimizers[0]
    status, out, err = call(
        "memory", name, "--optimizer", optimizer, "--updates", "50", "--lr", "0.01", "--simulate"
    )
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    for label in (
        "remembers",
        "law",
        "clock",
        "memory",
        "half-life",
        "simulated",
        "deviation",
        "assumes",
        "from",
    ):
        assert any(line.startswith(label) for line in out.splitlines())


def test_the_list_names_every_memory_and_clock(call) -> None:
    status, out, _ = call("memory", "--list")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert cells["least squares, null space"] == ["0", "", "0", "0", "0"]
    assert cells["norm, SGD, signal dominates"] == ["✗", "", "✗", "≈ 2", "✗"]
    assert cells["norm, fixed-size updates"] == ["✗", "", "✗", "= 4", "✗"]
    status, out, _ = call("memory", "--list", "--json")
    listed = json.loads(out)
    assert [row["remembers"] for row in listed] == list(cells)
    noisy = next(row for row in listed if row["remembers"] == "norm, SGD, noise dominates")["clocks"]["T_SGD"]
    assert noisy["others"].keys() == {"lr/2, updates*4", "batch_size*2, updates*2", "batch_size*4, lr*2"}
    assert list(noisy["others"].values()) == pytest.approx([noisy["memory"]] * 3, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no model was given: name one of null-space"),
        (["nonsense"], "model 'nonsense' is unknown"),
        (["null-space", "--curvature", "2"], "not used by null-space"),
        (["row-space", "--optimizer", "adam"], "row-space has no law for adam: it holds for sgd"),
        (["row-space", "--curvature", "-2"], "curvature = -2 is not allowed"),
        (["row-space", "--curvature", "nan"], "curvature = nan is not allowed"),
        (["row-space", "--curvature", "inf"], "curvature = inf is not allowed"),
        (["null-space", "--simulate", "--seeds", "1"], "give at least 2"),
        (["null-space", "--simulate", "--updates", "2000000"], "too many to simulate"),
        (["null-space", "--updates", "20000000"], "too many to follow"),
        (["null-space", "--optimizer", "adam", "--weight-decay", "0.1"], "gradient-free"),
        (["scale-invariant", "--init-scale", "0"], "positive norm"),
        (["noisy-quadratic", "--optimizer", "adam", "--noise", "0"], "above 0"),
        (["row-space", "--lr", "-1"], "lr = -1"),
        (["row-space", "--lr", "100", "--updates", "50"], "beyond stability"),
        (["row-space", "--lr", "1e90", "--updates", "500"], "beyond stability"),
        (["scale-invariant", "--noise", "1e300"], "from 0 to 1e+100"),
    ],
)
def test_wrong_input_is_one_sentence_and_status_two(call, arguments: list[str], says: str) -> None:
    status, out, err = call("memory", *arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_simulation_that_diverges_says_so(call) -> None:
    status, _, err = call("memory", "imbalance", "--lr", "5", "--updates", "200", "--simulate")
    assert status == 2
    assert "diverges at lr = 5" in err
