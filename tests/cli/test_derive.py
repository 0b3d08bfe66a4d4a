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
    assert result["curl_at"] == [{"x,y": 0.0}, {"x,y": 0.0}, {"x,y": 0.75}]
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
        (["gd", "--loss", "Max(x,0)"], ["not available", "(x + abs(x))/2"]),
        (["gd", "--loss", "exp(exp(exp(exp(x))))", "--at", "x=3"], ["beyond exp(1e301) at x = 3"]),
        (["gd", "--loss", "x**2", "--at", "x=99999999999999999999e300"], ["more than a double holds"]),
        (["gd", "--loss", "(x**2+y**2+z**2+w**2+x*y*z*w)**5", "--order", "4"], ["too long", "lower --order"]),
        (["gd", "--loss", "sin(x*y)+cos(x+y)", "--order", "11"], ["too long", "lower --order"]),
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


# What would take minutes, or for ever, if it were expanded or integrated without bounds.
LONG = {
    "tanh(x)**2 + exp(-x**2)": 3,
    "(x+y+z+w)**12": 1,
    "(x+y+z+w+1)**60": 1,
    "((x+1)**64+1)**64": 2,
    "sin(x) + cos(y)": 5,
    "tanh(x)**2": 3,
}


@pytest.mark.parametrize("loss", LONG)
def test_long_losses_have_an_objective(call, loss: str) -> None:
    result = as_json(call, "gd", "--loss", loss, "--order", str(LONG[loss]), "--lr", "1e-3")
    names = {v: sp.Symbol(v, real=True) for v in "xyzwt"}
    at = {names[v]: sp.Rational(1, 7 + i) for i, v in enumerate(result["variables"])}
    V = sp.sympify(result["objective"], locals=names)
    for variable, text in zip(result["variables"], result["field"], strict=True):
        # The derivative of an integral by its upper end is its integrand; the rest with 30 digits.
        slope = sp.diff(V, names[variable]).subs(at).doit().evalf(30)
        component = sp.sympify(text, locals=names).subs(at).evalf(30)
        assert abs(slope + component) < 1e-20 * abs(component)


def test_the_third_correction_of_adam(call) -> None:
    status, out, _ = call("derive", "adam", "--loss", "sin(x*y) + x**2 + y**2", "--order", "3")
    assert status == 0
    assert "names and operations, --json has all" in " ".join(out.split())


@pytest.mark.parametrize("loss", ["abs(x*y)", "abs(x)+y**2", "abs(x-y)*x", "abs(log(x)+y)*y", "abs(x)**3"])
def test_kinks_leave_no_delta_function(call, loss: str) -> None:
    at = "x=2" if "y" not in loss else "x=2,y=1"
    options = ["--order", "3", "--lr", "0.01", "--at", at, "--json"]
    status, out, err = call("derive", "gd", "--loss", loss, *options)
    assert status == 0, err
    assert not re.search("DiracDelta|Derivative", out)
    assert json.loads(out)["field_at"] is not None


def test_an_integral_with_a_kink_has_a_value(call) -> None:
    options = ["--order", "2", "--lr", "1e-5", "--at", "x=60"]
    result = as_json(call, "gd", "--loss", "abs(x-50)*x**2", *options)
    x = sp.Symbol("x")
    # With f = -L' the second correction is f^2 D^2 f/12 + f (D f)^2/3, a polynomial on either side of 50.
    total = sp.Integer(0)
    for sign, low, high in ((-1, 0, 50), (1, 50, 60)):
        f = -sp.diff(sign * (x - 50) * x**2, x)
        second = sp.diff(f, x, 2) * f**2 / 12 + sp.diff(f, x) ** 2 * f / 3
        total += sp.integrate(sp.expand(second), (x, low, high))
    slope = 60**2 + 2 * 60 * 10
    expected = 10 * 60**2 + 1e-5 / 4 * slope**2 - 1e-10 * float(total)
    assert result["objective_at"] == pytest.approx(expected, rel=1e-13)


def test_what_cannot_be_decided_is_said(call) -> None:
    loss = ["gd", "--loss", "sqrt(x**2-400) + y**2"]
    assert as_json(call, *loss)["is_gradient"] == [True, None]
    status, out, _ = call("derive", *loss)
    assert status == 0
    assert "could not be decided whether the terms of order lr^1 are a gradient" in " ".join(out.split())
    result = as_json(call, *loss, "--lr", "0.1", "--at", "x=30,y=1")
    assert result["is_gradient"] == [True, True]
    # With r^2 = x^2 - 400 = 500 the slope is x/r and the curvature 1/r - x^2/r^3.
    r = 500**0.5
    first = -30 / r * (1 + 0.05 * (1 / r - 900 / r**3))
    assert result["field_at"] == pytest.approx([first, -2.2], rel=1e-14)
    assert result["objective_at"] == pytest.approx(r + 1 + 0.1 / 4 * (900 / 500 + 4), rel=1e-14)


def test_the_curl_is_a_dictionary_in_any_dimension(call) -> None:
    one = as_json(call, "gd", "--loss", "x**4", "--order", "2", "--at", "x=1")
    assert one["curl_at"] == [{}, {}, {}]
    three = as_json(call, "gd", "--loss", "x*y*z", "--order", "2", "--at", "x=1,y=2,z=3")
    assert [sorted(curl) for curl in three["curl_at"]] == [["x,y", "x,z", "y,z"]] * 3
    large = as_json(call, "gd", "--loss", EXAMPLE, "--order", "2", "--at", "x=1e20,y=1")
    # A sixth of the commutator of H and M as in docs/modified_objectives.md.
    g = (sp.Integer(3) * 10**20, sp.Integer(10) ** 40 / 2 + 1)
    H, M = sp.Matrix([[3, 10**20], [10**20, 1]]), sp.Matrix([[g[1], g[0]], [g[0], 0]])
    expected = float(((M * H - H * M) / 6)[1, 0])
    assert large["curl_at"][2]["x,y"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("at", ["x=1e100,y=1", ",".join(f"{v}=1" for v in "abcdefghijklmn")])
def test_labels_leave_room_for_what_they_label(call, at: str) -> None:
    loss = " + ".join(f"{part.partition('=')[0]}**2" for part in at.split(","))
    status, out, err = call("derive", "gd", "--loss", loss, "--lr", "0.1", "--at", at)
    assert status == 0, err
    assert "field = (-2.2" in out
    assert re.search(r"at (the point|x = 1e\+100, y = 1) +objective = ", out)


def test_equal_curvatures_are_listed_once(call) -> None:
    result = as_json(call, "gd", "--loss", "x**2 + y**2 + 3*z**2", "--lr", "0.1")
    assert [row["curvature"] for row in result["rates"]] == pytest.approx([2, 6])


def test_tiny_learning_rates_have_a_rate(call) -> None:
    result = as_json(call, "gd", "--loss", "x**2", "--lr", "1e-300", "--at", "x=1")
    assert result["rates"] == [{"curvature": 2.0, "rate": 2.0}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sign", "--loss", "x**2", "--at", "x=1"], "the validity at the point needs a value for lr, beta."),
        (["lion", "--loss", "x**2", "--at", "x=1", "--lr", "0.1"], "needs a value for beta1, beta2."),
        (["sgd", "--loss", "x**2"], "entries of the covariance of the examples' gradients"),
        (["gd", "--loss", "E*x**2"], "E in the loss is Euler's number"),
        (["gd", "--loss", "x^2 + 2*E"], "E in the loss is Euler's number"),
        (["adam", "--loss", "x**2"], "in one variable any field descends its integral"),
    ],
)
def test_notes(call, arguments: list[str], words: str) -> None:
    assert any(words in warning for warning in as_json(call, *arguments)["warnings"])


def test_no_note_on_what_is_no_name(call) -> None:
    assert as_json(call, "gd", "--loss", "1E2*x**2 + 2.E1*E1 + e")["warnings"] == []


@pytest.mark.parametrize("name", ["gd", "heavy-ball", "nesterov"])
def test_weight_decay_stands_in_the_statements(name: str) -> None:
    assert r"\lambda\theta" in named(name).update
    assert r"\lambda\theta" in named(name).twin


def test_wrong_options_are_usage_errors(call) -> None:
    for arguments in (["gd", "--order", "1.5"], []):
        status, _, err = call("derive", *arguments)
        assert status == 2
        assert "Traceback" not in err
        assert "Usage" in err


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
