"""``initmem-theory match`` as a user types it."""

import json

import pytest

FROM = ("--from", "sgd lr=0.1 b=128 epochs=200 cosine wd=5e-4")


def test_four_times_the_batch_at_one_noise_clock(call) -> None:
    status, out, err = call("match", *FROM, "--to", "b=512", "--keep", "T_SGD", "--json")
    assert status == 0, err
    result = json.loads(out)
    old, new = result["from"], result["to"]
    assert new["clocks"]["T_SGD"] == pytest.approx(old["clocks"]["T_SGD"], rel=1e-12)
    # A quarter of the updates: lr grows fourfold but for the half update at the end of a cosine.
    assert new["knobs"]["lr"] == pytest.approx(0.4, rel=1e-4)
    assert new["clocks"]["sum_lr_squared"] == pytest.approx(4 * old["clocks"]["sum_lr_squared"], rel=1e-9)
    assert new["settings"]["batch_size"] == 512


def test_the_printed_recipe_can_be_given_again(call) -> None:
    status, out, _ = call("match", *FROM, "--to", "b=512", "--keep", "T_L2", "--solve", "weight-decay")
    assert status == 0
    recipe = out.splitlines()[-1]
    assert "weight_decay=0.00199990" in recipe
    status, out, _ = call("match", "--from", recipe, "--keep", "T_L2", "--json")
    assert json.loads(out)["from"]["clocks"]["T_L2"] == pytest.approx(1.56003, rel=1e-5)
    assert max(map(len, out.splitlines()[:-1]), default=0) <= 80


def test_a_recipe_that_forgets(call) -> None:
    status, out, err = call(
        "match",
        *("--from", "adamw lr=1e-3 b=128 epochs=20 cosine", "--target-memory", "0.05"),
        *("--model", "scale-invariant", "--init-scale", "16", "--entries", "147456", "--json"),
    )
    assert status == 0, err
    knobs = json.loads(out)["to"]["knobs"]
    # Without decay 1/(1 + C sum lr^2/r_0^2), and squares of a cosine sum to lr^2 (3 n + 4)/8.
    squares = 19 * 16**2 / 147456
    assert knobs["lr"] == pytest.approx((squares * 8 / (3 * knobs["updates"] + 4)) ** 0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*FROM], "either --keep with a clock or --target-memory"),
        ([*FROM, "--keep", "T_SGD", "--target-memory", "0.1"], "either --keep"),
        ([*FROM, "--target-memory", "0.1"], "belong together"),
        ([*FROM, "--keep", "T_SGD", "--curvature", "1"], "is a setting of a model"),
        ([*FROM, "--keep", "T_foo"], "clock 'T_foo' is unknown"),
        ([*FROM, "--keep", "T_SGD", "--solve", "foo"], "knob 'foo' is unknown"),
        (["--from", "sgd lr=fast", "--keep", "T_SGD"], "lr = 'fast'"),
        (["--from", "sgd lr=0", "--keep", "T_SGD"], "lr = '0'"),
        ([*FROM, "--target-memory", "2", "--model", "null-space"], "between 0 and 1"),
        ([*FROM, "--target-memory", "0.1", "--model", "noisy-quadratic"], "no law for sgd"),
    ],
)
def test_wrong_input_is_one_sentence_and_status_two(call, arguments: list[str], says: str) -> None:
    status, out, err = call("match", *arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
