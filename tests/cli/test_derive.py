"""``initmem-theory derive`` and ``cite`` as a user types them."""

import json
import re
import subprocess
import sys

import pytest
import sympy as sp

from initmem.cli import main
from initmem.theory.expression import parse_expression
from initmem.theory.optimizers import NAMES, named

X, Y = sp.symbols("x y", real=True)
EXAMPLE = "x**2*y/2 + x**2 + y**2/2"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command in this process; returns exit status, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["initmem-theory", *arguments])
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def as_json(call, *arguments: str) -> dict:
    status, out, err = call("derive", *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_json_of_a_derivation(call) -> None:
    result = as_json(call, "gd", "--loss", EXAMPLE, "--order", "2", "--lr", "0.1", "--at", "x=1,y=1")
    assert (result["optimizer"], result["order"], result["variables"]) == ("gd", 2, ["x", "y"])
    assert result["is_gradient"] == [True, True, False]
    assert result["curl_at"] == [0.0, 0.0, 0.75]
    assert result["objective"] is None
    assert result["objective_at"] is None
    # By hand: g = (3, 1.5), H = ((3, 1), (1, 1)), T[g, g] = (9, 9).
    assert result["field_at"] == pytest.approx(
        [
            -3 - 0.05 * 10.5 - 0.01 * (9 / 12 + (10 * 3 + 4 * 1.5) / 3),
            -1.5 - 0.05 * 4.5 - 0.01 * (9 / 12 + (4 * 3 + 2 * 1.5) / 3),
        ],
        rel=1e-14,
    )
    total = [parse_expression(text) for text in result["field"]]
    terms = [[parse_expression(text) for text in term] for term in result["terms"]]
    summed = [sp.Add(*(sp.Rational(1, 10) ** n * terms[n][i] for n in range(3))) for i in (0, 1)]
    assert [sp.expand(a - b) for a, b in zip(total, summed, strict=True)] == [0, 0]
    assert [float(component.subs({X: 1, Y: 1})) for component in total] == pytest.approx(result["field_at"])
    assert result["validity"] == {
        "parameter": "lr*lambda_max(H)",
        "value": pytest.approx(0.1 * (2 + 2**0.5), rel=1e-12),
        "limit": 1.0,
        "within": True,
    }
    assert result["references"] == list(named("gd").references)


def test_the_objective_is_one_whose_gradient_is_the_field(call) -> None:
    result = as_json(
        call, "heavy-ball", "--loss", EXAMPLE, "--lr", "1/1000", "--beta", "0.9", "--at", "x=1,y=1"
    )
    objective = parse_expression(result["objective"])
    slopes = [float(sp.diff(objective, v).subs({X: 1, Y: 1})) for v in (X, Y)]
    assert result["objective_gives"] == "-10*grad(objective)"
    assert result["field_at"] == pytest.approx([-10 * slope for slope in slopes], rel=1e-14)
    assert result["objective_at"] == pytest.approx(2 + 1e-3 / 4 * 190 * (3**2 + 1.5**2), rel=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_has_a_general_formula(call, name: str) -> None:
    result = as_json(call, name)
    assert result["optimizer"] == name
    assert len(result["field"]) == len(result["field_latex"]) >= 1
    assert (result["objective"] is None) == (not named(name).has_objective)
    status, out, _ = call("derive", name)
    assert status == 0
    assert "d theta/dt = -" in out
    assert f"initmem-theory cite {name}" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80 or name.startswith("adam") or name == "rmsprop"


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_derives_a_loss(call, name: str) -> None:
    loss = ["--loss", "w11**2 + w12**2/2 + w11*w12"] if name == "muon" else ["--loss", EXAMPLE]
    at = "w11=1,w12=2" if name == "muon" else "x=1,y=1"
    numbers = {"beta": "0.5", "beta1": "0.5", "beta2": "0.6", "eps": "0.1", "batch_size": "1"}
    options = [
        o for s in named(name).settings if s in numbers for o in (f"--{s.replace('_', '-')}", numbers[s])
    ]
    if "batch_size" in named(name).settings:
        loss = [*loss, "--loss", f"({EXAMPLE})*2"]  # two examples
    if name in ("adamw", "adam-l2"):
        options += ["--weight-decay", "0.1"]
    result = as_json(call, name, *loss, "--lr", "0.01", "--at", at, *options)
    assert result["field_at"] is not None
    assert result["validity"]["value"] > 0
    assert (result["objective"] is None) == (not named(name).has_objective)
    assert call("derive", name, *loss, "--lr", "0.01", "--at", at, *options)[0] == 0


def test_constants_that_are_not_given_stay_symbols(call) -> None:
    result = as_json(call, "heavy-ball", "--loss", "x**2/2", "--at", "x=1")
    assert result["field_at"] is None
    assert any("beta, lr" in warning for warning in result["warnings"])
    assert {str(s) for s in parse_expression(result["field"][0]).free_symbols} == {"x", "lr", "beta"}


@pytest.mark.parametrize(
    "options",
    [
        ["--weight-decay", "0.1", "--decay-law", "decoupled", "--loss", "x**2/2 + y**2*x"],
        ["--loss", "x**3/3 + x*y", "--loss", "x**2*y", "--batch-size", "1"],
    ],
)
def test_heavy_ball_has_an_objective_beside_decay_and_noise(call, options: list[str]) -> None:
    result = as_json(call, "heavy-ball", *options, "--beta", "0.9", "--lr", "0.001", "--at", "x=1,y=1")
    assert result["is_gradient"] == [True, True]
    objective = parse_expression(result["objective"])
    slopes = [float(sp.diff(objective, v).subs({X: 1, Y: 1})) for v in (X, Y)]
    assert result["field_at"] == pytest.approx([-10 * slope for slope in slopes], rel=1e-12)


def test_a_point_may_come_in_pieces(call) -> None:
    whole = as_json(call, "gd", "--loss", EXAMPLE, "--lr", "0.1", "--at", "x=1,y=2")
    assert as_json(call, "gd", "--loss", EXAMPLE, "--lr", "0.1", "--at", "x=1", "--at", "y=2") == whole


def test_minibatches_need_one_loss_an_example(call) -> None:
    one = as_json(call, "sgd-without-replacement", "--loss", "x**2", "--batch-size", "2", "--train-size", "4")
    assert "Gamma" in one["field"][0]
    assert any("repeat --loss" in warning for warning in one["warnings"])
    two = [
        "--loss",
        "(x - 1)**2/2",
        "--loss",
        "3*(x + 1)**2/2",
        "--batch-size",
        "1",
        "--lr",
        "0.1",
        "--at",
        "x=1",
    ]
    # g = 2x + 1, H = 2, Gamma = (x + 2)^2, so the field is -3 - .05*2*3 - .1/4*2*3 at 1.
    assert as_json(call, "sgd-without-replacement", *two)["field_at"] == pytest.approx([-3.45], rel=1e-14)
    assert as_json(call, "sgd", *two)["field_at"] == pytest.approx([-3.3], rel=1e-14)
    assert parse_expression(as_json(call, "sgd", *two)["diffusion"][0][0]).subs(X, 1) == sp.Rational(9, 10)


def test_latex_is_a_whole_document(call) -> None:
    for arguments in (
        ["gd", "--order", "4"],
        ["gd", "--loss", EXAMPLE, "--order", "3"],
        ["lion", "--weight-decay", "0.1"],
    ):
        status, out, _ = call("derive", *arguments, "--latex")
        assert status == 0
        assert out.startswith("\\documentclass")
        assert out.endswith("\\end{document}\n")
        assert out.count("\\begin{") == out.count("\\end{")
        assert out.count("\\left(") == out.count("\\right)")
        assert out.count("{") - out.count("\\{") == out.count("}") - out.count("\\}")
        words = re.sub(r"\\\[.*?\\\]|\$.*?\$|\\begin\{align\*\}.*?\\end\{align\*\}", "", out, flags=re.S)
        assert not re.search(r"(?<!\\)[_^#%&~]", words)


def test_warnings_stand_beside_what_they_warn_of(call) -> None:
    status, out, _ = call(
        "derive", "heavy-ball", "--loss", "x**2/2", "--lr", "0.01", "--beta", "0.9", "--at", "x=1"
    )
    text = " ".join(out.split())
    assert status == 0
    assert "lr*lambda_max(H)/(1 - beta)^2 = 1 is not below 0.2633" in text
    assert "roots are complex" in text
    assert "none: no real flow" in text
    status, out, _ = call("derive", "gd", "--loss", "x**2", "--lr", "0.6", "--at", "x=1")
    assert "lr*lambda_max(H) = 1.2 is not below 1" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["foo"], ["optimizer 'foo' is unknown", "gd", "muon"]),
        (["gd", "--order", "40"], ["order = 40", "to 11"]),
        (["adam", "--order", "4"], ["order = 4", "to 3"]),
        (["heavy-ball", "--order", "6"], ["order = 6", "give --beta"]),
        (["gd", "--order", "-1"], ["order = -1", "from 0"]),
        (["gd", "--loss", "abs(x)", "--at", "x=0"], ["x is zero at x = 0", "kink"]),
        (["gd", "--loss", "sqrt(x)", "--at", "x=0"], ["not a finite real number at x = 0"]),
        (["gd", "--loss", "log(x)", "--at", "x=-1"], ["log(x)", "x = -1"]),
        (["sign", "--loss", "x**2", "--at", "x=0"], ["x is zero at x = 0"]),
        (["ngd", "--loss", "x**2 + y**2", "--at", "x=0,y=0", "--beta", "0"], ["not a finite real number"]),
        (["gd", "--loss", "x**2 + y", "--at", "x=1"], ["no value for y"]),
        (["gd", "--loss", "x**2", "--at", "x=1,z=1"], ["z", "no variable"]),
        (["gd", "--loss", "x**2", "--at", "x=1", "--at", "x=2"], ["'x' is given twice"]),
        (["gd", "--loss", "exp(x)", "--lr", "0.1", "--at", "x=1000", "--json"], ["more than a double holds"]),
        (
            ["gd", "--loss", "x**4", "--lr", "1e300", "--at", "x=1", "--order", "2"],
            ["more than a double holds"],
        ),
        (["gd", "--loss", "3"], ["no variable"]),
        (["gd", "--at", "x=1"], ["--at was given without --loss"]),
        (["gd", "--latex", "--json"], ["--latex and --json"]),
        (["gd", "--lr", "0"], ["lr = 0", "above 0"]),
        (["gd", "--lr", "nan"], ["nan"]),
        (["gd", "--beta", "0.9"], ["beta was given for gd"]),
        (["heavy-ball", "--beta", "1"], ["beta = 1", "below 1"]),
        (["adam", "--weight-decay", "0.1"], ["weight_decay", "adamw and adam-l2"]),
        (["adamw", "--decay-law", "coupled"], ["'coupled'", "decoupled, independent"]),
        (["gd", "--weight-decay", "0.1", "--decay-law", "independent"], ["give lr"]),
        (["sgd", "--batch-size", "9", "--train-size", "4"], ["batch_size = 9", "train_size = 4"]),
        (["sgd-without-replacement", "--batch-size", "3", "--train-size", "4"], ["whole epochs"]),
        (["heavy-ball", "--batch-size", "2"], ["--train-size"]),
        (["muon", "--loss", "x**2"], ["w11, w12, w21, w22"]),
        (["muon", "--loss", "+".join(f"w{i}{j}**2" for i in "123" for j in "123")], ["3 x 3"]),
        (["gd", "--loss", "__import__('os').system('x')"], ["not allowed"]),
        (["gd", "--loss", "2x"], ["2*x"]),
        (["gd", "--loss", ""], ["empty"]),
    ],
)
def test_bad_input_ends_with_one_sentence(call, arguments: list[str], words: list[str]) -> None:
    status, out, err = call("derive", *arguments)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("initmem-theory: ")
    assert err.endswith(".\n")
    assert all(word in err for word in words), err


def test_cite_prints_each_source_once(call) -> None:
    status, out, _ = call("cite", "adam", "adamw", "adam")
    keys = re.findall(r"^@\w+\{(\w+),", out, re.MULTILINE)
    assert status == 0
    assert keys == list(dict.fromkeys([*named("adam").references, *named("adamw").references]))
    status, _, err = call("cite", "foo")
    assert status == 2
    assert "foo" in err


def test_derive_does_not_load_what_it_does_not_need() -> None:
    code = (
        "import sys; sys.argv = ['initmem-theory', 'derive', 'gd', '--loss', 'x**2']\n"
        "from initmem.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'pandas', 'statsmodels', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
