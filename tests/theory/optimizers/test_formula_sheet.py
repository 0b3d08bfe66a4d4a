"""Published and independently computed values, each asserted from a derived or simulated result."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

from initmem.theory.backward_error.field import number
from initmem.theory.backward_error.lag import geometric, moments
from initmem.theory.backward_error.quadratic import largest_product
from initmem.theory.backward_error.shuffling import displacement, finite_population, memory_share
from initmem.theory.expression import parse_number, parse_point
from initmem.theory.optimizers import named
from initmem.theory.optimizers.constants import Constants
from initmem.theory.optimizers.derivation import Derivation, derive, general
from initmem.theory.optimizers.linear_memory import half_penalty
from initmem.theory.optimizers.loss import Loss
from initmem.theory.optimizers.muon import polar_derivative, polar_factor
from initmem.theory.optimizers.sgd_without_replacement import epoch_mean
from initmem.theory.optimizers.sign import expected_sign

BETA, BETA1, BETA2 = Constants().beta, Constants().beta1, Constants().beta2


def result(name: str, loss: str | list[str], order: int, at: str = "", **given: str) -> Derivation:
    numbers = {key: value if key == "decay_law" else parse_number(value) for key, value in given.items()}
    texts = [loss] if isinstance(loss, str) else loss
    return derive(name, Loss.parse(texts), order, numbers, parse_point(at) if at else None)


def at_point(derived: Derivation) -> list[float]:
    values = derived.field_at
    assert values is not None
    return values


def goal(derived: Derivation) -> sp.Expr:
    assert derived.objective is not None
    return derived.objective.expression


def rate_of(derived: Derivation) -> float | None:
    assert derived.rates is not None
    return derived.rates[0]["rate"]


# --- gradient descent ----------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "rate"), [(0, 1.0), (1, 1.05), (2, 1.0533333333333332)])
def test_a_quadratic_under_gradient_descent(order: int, rate: float) -> None:
    derived = result("gd", "x**2/2", order, "x=1", lr="0.1")
    assert derived.field_at == pytest.approx([-rate], rel=1e-15)
    assert derived.objective is not None
    assert derived.evaluate(goal(derived)) == pytest.approx(rate / 2, rel=1e-15)
    assert derived.rates == [{"curvature": 1.0, "rate": pytest.approx(1.0536051565782628, rel=1e-15)}]


def test_from_second_order_on_there_is_no_objective() -> None:
    derived = result("gd", "x**2*y/2 + x**2 + y**2/2", 2, "x=1,y=1")
    assert derived.is_gradient == (True, True, False)
    assert derived.curl_at == [{"x,y": 0.0}, {"x,y": 0.0}, {"x,y": 0.75}]
    assert derived.objective is None
    # -( T[g, g]/12 + H^2 g/3 ) by hand at (1, 1), where g = (3, 3/2), H = ((3, 1), (1, 1)).
    g, H = np.array([3, 1.5]), np.array([[3.0, 1], [1, 1]])
    T_gg = np.array([2 * g[0] * g[1], g[0] ** 2])
    second = [number(c, derived.point) for c in derived.field.terms[2]]
    assert second == pytest.approx(-(T_gg / 12 + H @ H @ g / 3), rel=1e-14)


# --- minibatches ---------------------------------------------------------------------------------

A, C, Q = (1, 2, 3, 0.5, 1.5, 2.5), (0, 1, -1, 2, -0.5, 0.7), (0.3, -0.2, 0.1, 0.4, -0.1, 0.2)
SIX = [f"{a}*(x - ({c}))**2/2 + ({q})*x**3/6" for a, c, q in zip(A, C, Q, strict=True)]


def test_finite_population() -> None:
    factors = [finite_population(sp.Integer(b), sp.Integer(6)) / b for b in (1, 2, 3, 4, 6)]
    assert factors == [1, sp.Rational(2, 5), sp.Rational(1, 5), sp.Rational(1, 10), 0]
    assert float(finite_population(128, 40_000) / 128) == pytest.approx(0.00778769, abs=5e-9)


def test_one_epoch_of_six_examples() -> None:
    loss = Loss.parse(SIX)
    x = loss.variables[0]
    assert number(loss.noise, {x: sp.Rational(13, 10)}) == pytest.approx(5.29767028472, abs=5e-12)
    assert number(sp.diff(loss.noise, x), {x: sp.Rational(13, 10)}) == pytest.approx(2.58910194444, abs=5e-12)
    exact = epoch_mean(loss, [1.3], 0.01, 2)[0]
    assert exact == pytest.approx(1.23496527658, abs=5e-12)
    shuffled = result("sgd-without-replacement", SIX, 1, batch_size="2").field.flow(np.array([1.3]), 0.01, 3)[
        0
    ]
    assert exact - shuffled == pytest.approx(-1.019e-5, abs=5e-9)
    descent = result("gd", SIX, 1).field.flow(np.array([1.3]), 0.01, 3)[0]
    assert exact - descent == pytest.approx(-8.46e-5, abs=5e-8)


def test_shuffling_at_finite_curvature() -> None:
    a = 1.8 + 0.0125 * (np.array(A) - np.mean(A))
    c = 0.0125 * np.array(C)
    gradients = [lambda x, a=a, c=c: a * (x - c) for a, c in zip(a, c, strict=True)]
    hessians = [lambda x, a=a: np.array([[a]]) for a in a]
    moved = displacement(np.array([1.3]), gradients, hessians, 0.5, 6)[0]
    assert moved == pytest.approx(-8.249152e-6, abs=5e-13)
    per_sample = Loss.parse([f"{float(a)!r}*(x - ({float(c)!r}))**2/2" for a, c in zip(a, c, strict=True)])
    descent = 1.3
    for _ in range(6):
        descent -= 0.5 * float(np.mean(a * (descent - c)))
    exact = epoch_mean(per_sample, [1.3], 0.5, 1)[0] - descent
    assert exact == pytest.approx(-8.245479e-6, abs=5e-13)


def test_diffusion_of_a_quadratic() -> None:
    """Additive noise s = 1 on x^2/2 at lr = 0.1 for ten updates from 1: two examples at +1 and -1."""
    pair = ["(x - 1)**2/2", "(x + 1)**2/2"]
    lr, updates = 0.1, 10
    mean, variance = 1.0, 0.0
    for _ in range(updates):
        mean, variance = (1 - lr) * mean, (1 - lr) ** 2 * variance + lr**2
    assert (mean, variance) == pytest.approx((0.3486784401, 0.0462328077), abs=5e-11)
    found = {}
    for order in (0, 1):
        derived = result("sgd", pair, order, "x=1", lr="0.1", batch_size="1")
        rate = -at_point(derived)[0]  # linear with its zero at 0
        assert derived.diffusion is not None
        noise = number(derived.diffusion[0], derived.point)
        assert noise == pytest.approx(lr, rel=1e-15)
        found[order] = (math.exp(-rate), noise * (1 - math.exp(-2 * rate)) / (2 * rate))
    assert found[0] == pytest.approx((0.3678794, 0.0432332), abs=5e-8)
    assert found[1] == pytest.approx((0.3499377, 0.0417878), abs=5e-8)
    # The corrected mean is closer; the variance, itself of size lr, is right to leading order in both.
    assert found[1][1] - variance == pytest.approx(-4.45e-3, abs=1e-5)
    assert found[0][1] - variance == pytest.approx(-3.00e-3, abs=1e-5)
    stationary = variance
    for _ in range(400):
        stationary = (1 - lr) ** 2 * stationary + lr**2
    assert stationary == pytest.approx(0.0526315789, abs=5e-11)
    assert stationary == pytest.approx(lr / (2 - lr), rel=1e-12)


# --- momentum ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "c"),
    [
        ("heavy-ball", (1 + BETA) / (1 - BETA) ** 2),
        ("nesterov", (1 - BETA + 2 * BETA**2) / (1 - BETA) ** 2),
        ("gd", sp.Integer(1)),
    ],
)
def test_penalty_of_momentum(name: str, c: sp.Expr) -> None:
    weights = named(name).weights
    assert weights is not None
    assert sp.simplify(4 * half_penalty(weights(Constants())) - c) == 0


def test_penalty_of_heavy_ball_is_memory_plus_euler() -> None:
    memory, euler = BETA / (2 * (1 - BETA) ** 2), 1 / (4 * (1 - BETA))
    assert sp.simplify(half_penalty(geometric(BETA)) - memory - euler) == 0


def test_quadratics_under_momentum() -> None:
    sums = [10, 10.475, 10.520083, 10.525433, 10.526144]
    for order, total in enumerate(sums):
        derived = result("heavy-ball", "x**2/2", order, "x=1", lr="5e-4", beta="0.9")
        assert -at_point(derived)[0] == pytest.approx(total, abs=5e-7)
        assert rate_of(derived) == pytest.approx(10.52626314242, abs=5e-12)
    derived = result("nesterov", "x**2/2", 1, "x=1", lr="5e-4", beta="0.9")
    assert -at_point(derived)[0] == pytest.approx(10.43, rel=1e-14)
    assert rate_of(derived) == pytest.approx(10.47377226457, abs=5e-12)


def test_complex_roots_under_heavy_ball() -> None:
    limit = largest_product(geometric(sp.Rational(9, 10)))
    assert limit == pytest.approx((1 - math.sqrt(0.9)) ** 2, rel=1e-14)
    assert limit == pytest.approx(0.0026334, abs=5e-8)
    derived = result("heavy-ball", "x**2/2", 1, "x=1", lr="0.01", beta="0.9")
    assert derived.rates == [{"curvature": 1.0, "rate": None}]
    assert derived.validity.within is False
    assert any("complex" in warning for warning in derived.warnings)
    # There the contraction per update is sqrt(beta), whatever the curvature.
    matrix = np.array([[1.9 - 0.01, -0.9], [1, 0]])
    assert np.abs(np.linalg.eigvals(matrix)) == pytest.approx(math.sqrt(0.9), rel=1e-12)


@pytest.mark.parametrize(("updates", "share"), [(100, 0.836363), (313, 0.944151)])
def test_share_of_the_noise_that_momentum_passes_on(updates: int, share: float) -> None:
    assert float(memory_share(geometric(sp.Rational(9, 10)), sp.Integer(updates))) == pytest.approx(
        share, abs=5e-7
    )


# --- adaptive methods ----------------------------------------------------------------------------

ADAM = {"lr": "0.01", "beta1": "0.6", "beta2": "0.8", "eps": "0.25"}


def test_adam() -> None:
    assert result("adam", "x**2", 1, "x=0.5", **ADAM).field_at == pytest.approx([-0.8688271910], abs=5e-11)


def test_adamw() -> None:
    derived = result("adamw", "x**2", 1, "x=0.5", weight_decay="0.1", **ADAM)
    assert derived.field_at == pytest.approx([-0.9178683211], abs=5e-11)


def test_adam_with_l2_is_adam_on_the_decayed_loss() -> None:
    derived = result("adam-l2", "x**2", 1, "x=0.5", weight_decay="0.1", **ADAM)
    assert derived.field_at == pytest.approx(
        result("adam", "1.05*x**2", 1, "x=0.5", **ADAM).field_at, rel=1e-14
    )


def test_the_bracket_of_adam() -> None:
    """Its limits: -1980 for small eps at torch's constants, and heavy ball's for large eps."""
    derived = result("adam", "x**2", 1, beta1="0.9", beta2="0.999")
    x, eps = derived.loss.variables[0], derived.constants.eps
    g = 2 * x
    bracket = sp.simplify(derived.field.terms[1][0] / (-2 * g / (g**2 + eps) / 2))
    assert sp.limit(bracket, eps, 0, "+") == -1980
    assert sp.limit(bracket, eps, sp.oo) == 19  # (1 + 0.9)/(1 - 0.9)


# --- steepest descent under a norm ---------------------------------------------------------------

MATRIX = "(w11**2 + 2*w12**2 + 3*w21**2 + 6*w22**2)/2"  # tr(W^T A W B)/2 for A = diag(1, 3), B = diag(1, 2)
PLACE = "w11=1,w12=2,w21=0,w22=1"


def objective_slopes(derived: Derivation) -> np.ndarray:
    slopes = [sp.diff(goal(derived), variable) for variable in derived.loss.variables]
    return np.array([number(slope, derived.point) for slope in slopes])


def test_muon() -> None:
    plain = result("muon", MATRIX, 0, PLACE, lr="0.1", beta="0.5")
    assert plain.field_at == pytest.approx([-0.86824314, -0.49613894, 0.49613894, -0.86824314], abs=5e-9)
    gradient = np.array([[1.0, 4.0], [0.0, 6.0]])
    assert plain.field_at == pytest.approx(-polar_factor(gradient).ravel(), rel=1e-14)
    assert np.linalg.norm(gradient, "nuc") == pytest.approx(8.0622577483, abs=5e-11)
    corrected = result("muon", MATRIX, 1, PLACE, lr="0.1", beta="0.5")
    penalty = goal(corrected) - corrected.loss.mean
    assert number(penalty, corrected.point) == pytest.approx(0.1 * 1.5 * 8.0622577483, abs=5e-11)
    direction = -polar_factor(objective_slopes(corrected).reshape(2, 2))
    assert direction.ravel() == pytest.approx([-0.87524745, -0.4836754, 0.4836754, -0.87524745], abs=5e-9)


def test_muon_has_no_correction_where_all_columns_curve_alike() -> None:
    """B = I, so the gradient AW moves by a symmetric matrix times its polar factor."""
    derived = result("muon", "(w11**2 + w12**2 + 3*w21**2 + 3*w22**2)/2", 1, PLACE, lr="0.1", beta="0.5")
    first = [number(component, derived.point) for component in derived.field.terms[1]]
    assert first == pytest.approx([0, 0, 0, 0], abs=1e-15)


def test_normalized_descent() -> None:
    derived = result("ngd", "(x**2 + 4*y**2)/2", 1, "x=1,y=1", lr="0.1", beta="0.5")
    slopes = objective_slopes(derived)
    assert -slopes / np.linalg.norm(slopes) == pytest.approx([-0.22060839, -0.97536247], abs=5e-9)


@pytest.mark.parametrize("name", ["ngd", "sign", "muon"])
def test_momentum_factor_of_steepest_descent(name: str) -> None:
    objective = general(name, 1)[1].objective
    assert objective is not None
    assert "lr*(beta + 1)/(2*(1 - beta))" in objective


def test_the_mean_lag_of_lion() -> None:
    """The present gradient with weight 1 - beta1, the average one update late with beta1."""
    weights = (1 - BETA1) + BETA1 * sp.Symbol("z") * (1 - BETA2) / (1 - BETA2 * sp.Symbol("z"))
    total, first = moments(weights, 2)
    assert sp.simplify(total - 1) == 0
    assert sp.simplify(first - BETA1 / (1 - BETA2)) == 0


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (5, 3)])
def test_derivative_of_the_polar_factor(shape: tuple[int, int]) -> None:
    draw = np.random.default_rng(sum(shape))
    G, change = draw.normal(size=shape), draw.normal(size=shape)
    h = 1e-5  # central differences: error h^2, and rounding 1e-16/h
    difference = (polar_factor(G + h * change) - polar_factor(G - h * change)) / (2 * h)
    assert polar_derivative(G, change) == pytest.approx(difference, abs=1e-8)


def test_five_newton_schulz_steps_are_not_the_polar_factor() -> None:
    torch = pytest.importorskip("torch")
    from initmem.empirics.muon import newton_schulz

    draw = torch.Generator().manual_seed(0)
    singular = torch.linalg.svdvals(newton_schulz(torch.randn(1, 256, 256, generator=draw))[0])
    # A Gaussian matrix has its smallest singular value anywhere near 0, so only its size is stable.
    assert 0 < float(singular.min()) < 0.5
    assert float(singular.max()) == pytest.approx(1.2, abs=0.02)
    assert float((singular**2).mean()) == pytest.approx(0.814, abs=0.02)


# --- noise ---------------------------------------------------------------------------------------


def test_the_mean_sign_of_a_noisy_gradient() -> None:
    assert expected_sign(0.3, 1.0) == pytest.approx(0.2358228444, abs=5e-11)
    assert expected_sign(1e-4, 1.0) == pytest.approx(math.sqrt(2 / math.pi) * 1e-4, rel=1e-8)


def test_noise_dominated_sign_descent_forgets_at_the_rate_of_the_mean_sign() -> None:
    """Quadratic h = 1 with noise s = 10 for 1,000 updates at lr = 0.01: sqrt(2/pi) h/s sum lr."""
    law = math.exp(-math.sqrt(2 / math.pi) / 10 * 0.01 * 1000)
    assert law == pytest.approx(0.4502805, abs=5e-8)
    x = 1.0
    for _ in range(1000):
        x -= 0.01 * expected_sign(x, 10.0)
    # The linearisation of erf is off by (x/s)^2/6, the step by lr/s; the simulated value is .4509.
    assert x == pytest.approx(law, rel=2e-3)
    draw = np.random.default_rng(0)
    runs, theta = 20_000, np.ones(20_000)
    for _ in range(1000):
        theta -= 0.01 * np.sign(theta + 10 * draw.normal(size=runs))
    assert theta.mean() == pytest.approx(x, abs=4 * theta.std() / math.sqrt(runs))


# --- decay ---------------------------------------------------------------------------------------


def test_cross_term_of_coupled_decay() -> None:
    derived = result("gd", "x**2", 1, "x=1", lr="0.05", weight_decay="0.1")
    assert -at_point(derived)[0] == pytest.approx(2.21025, rel=1e-14)
    assert rate_of(derived) == pytest.approx(2.2186312141, abs=5e-11)
    # lr*lambda*<theta, grad L>/2 is what is left of the penalty without the pure terms.
    lr, decay, h = sp.Rational(1, 20), sp.Rational(1, 10), 2
    penalty = goal(derived) - derived.loss.mean - decay * derived.loss.variables[0] ** 2 / 2
    cross = sp.diff(
        penalty - lr * (h**2 + decay**2) * derived.loss.variables[0] ** 2 / 4, *derived.loss.variables
    )
    assert number(cross, derived.point) == pytest.approx(0.01, rel=1e-14)


def test_the_cross_term_vanishes_for_a_scale_invariant_loss() -> None:
    derived = result(
        "gd", "(x**2 - y**2)**2/(x**2 + y**2)**2", 1, "x=0.7,y=0.4", lr="0.05", weight_decay="0.1"
    )
    no_decay = result("gd", "(x**2 - y**2)**2/(x**2 + y**2)**2", 1, "x=0.7,y=0.4", lr="0.05")
    both = number(goal(derived), derived.point) - number(goal(no_decay), no_decay.point)
    assert both == pytest.approx((0.1 / 2 + 0.05 * 0.1**2 / 4) * (0.7**2 + 0.4**2), rel=1e-13)


@pytest.mark.parametrize("name", ["gd", "heavy-ball", "adamw", "ngd", "muon"])
def test_decoupled_decay_of_a_coordinate_without_gradient(name: str) -> None:
    """Exactly prod(1 - lr lambda): the series of -ln(1 - lr lambda)/lr, beside any momentum."""
    numbers = {"beta": "0.5", "beta1": "0.5", "beta2": "0.6", "eps": "0.1"}
    given = {key: value for key, value in numbers.items() if key in named(name).settings}
    free, held = ("w12", "w11") if name == "muon" else ("x", "y")
    # The free coordinate enters with a weight that no double sees.
    text = f"3*{held} + {held}**2/2 + 1e-40*{free}"
    derived = result(
        name, text, 1, f"{free}=1,{held}=0.5", lr="0.1", weight_decay="0.2", decay_law="decoupled", **given
    )
    place = [str(variable) for variable in derived.loss.variables].index(free)
    terms = [number(term[place], derived.point) for term in derived.field.terms]
    assert terms == pytest.approx([-0.2, -(0.2**2) / 2], rel=1e-12)


def test_coupled_decay_enters_the_buffer_of_momentum() -> None:
    """A null component obeys z^2 - (1 + beta - lr lambda) z + beta = 0."""
    derived = result(
        "heavy-ball", "x*0 + y**2/2 + 1e-40*x", 1, "x=1,y=1", lr="0.01", beta="0.9", weight_decay="0.1"
    )
    slow = max(np.roots([1, -(1.9 - 0.001), 0.9]).real)
    assert rate_of(derived) == pytest.approx(-math.log(slow) / 0.01, rel=1e-10)


def run(name: str, theta: float, slope: Callable, updates: int, **constants: str) -> float:
    exact = {key: parse_number(value) for key, value in constants.items() if key != "decay_law"}
    c = Constants(**exact, decay_law=constants.get("decay_law", "coupled")).floats()
    place, state = np.array([theta]), None
    for _ in range(updates):
        place, state = named(name).step(place, slope, state, c)
    return float(place[0])


@pytest.mark.parametrize(
    ("beta1", "beta2", "left"), [("0", "0", 0.4000), ("0.9", "0.95", 0.4085), ("0.9", "0.999", 0.4888)]
)
@pytest.mark.parametrize("decay", ["1e-4", "1e-2"])
def test_adam_with_l2_moves_a_free_weight_by_lr_whatever_the_decay(
    beta1: str, beta2: str, left: float, decay: str
) -> None:
    """The values of torch; eps inside the root is the square of torch's 1e-8."""
    constants = {"lr": "1e-3", "beta1": beta1, "beta2": beta2, "eps": "1e-16", "weight_decay": decay}
    ours = run("adam-l2", 1.0, np.zeros_like, 600, **constants)
    assert ours == pytest.approx(left, abs=3e-4)
    torch = pytest.importorskip("torch")
    weight = torch.ones(1, dtype=torch.float64, requires_grad=True)
    weight.grad = torch.zeros_like(weight)
    adam = torch.optim.Adam([weight], lr=1e-3, betas=(float(beta1), float(beta2)), weight_decay=float(decay))
    for _ in range(600):
        adam.step()
    assert float(weight.detach()) == pytest.approx(left, abs=3e-4)
    assert ours == pytest.approx(float(weight.detach()), abs=1e-4)


def test_adamw_on_a_free_weight() -> None:
    constants = {"lr": "1e-3", "beta1": "0.9", "beta2": "0.999", "eps": "1e-16", "weight_decay": "1e-2"}
    left = run("adamw", 1.0, np.zeros_like, 600, decay_law="decoupled", **constants)
    assert left == pytest.approx(0.994017934, abs=5e-10)


def test_independent_decay_is_decoupled_decay_at_its_own_rate() -> None:
    independent = result("adamw", "x**2", 1, "x=0.5", weight_decay="0.001", decay_law="independent", **ADAM)
    decoupled = result("adamw", "x**2", 1, "x=0.5", weight_decay="0.1", **ADAM)
    assert independent.field_at == pytest.approx(decoupled.field_at, rel=1e-14)


@pytest.mark.parametrize(("name", "size"), [("sign", 1.0), ("lion", 1.0)])
def test_decoupled_decay_bounds_the_weights(name: str, size: float) -> None:
    """|theta_K| <= prod(1 - lr lambda)|theta_0| + c/lambda, and the bound is reached under a steady pull."""
    constants = {"lr": "0.01", "weight_decay": "0.5", "beta": "0.9", "beta1": "0.9", "beta2": "0.99"}
    end = run(name, 5.0, np.ones_like, 2000, decay_law="decoupled", **constants)
    bound = (1 - 0.005) ** 2000 * 5.0 + size / 0.5
    assert abs(end) <= bound
    assert end == pytest.approx(-size / 0.5, rel=1e-3)
