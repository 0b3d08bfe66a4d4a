"""The law of the norm, from the modified objective of a loss that sees only an angle."""

import sympy as sp

from ..optimizers.derivation import derive
from ..optimizers.loss import Loss, gradient, squared
from .model import Step


def steps() -> tuple[Step, ...]:
    """The force along the weights, its integral, the exact updates and the exponent."""
    return (*_force(), *_updates(), *_momentum(), *_exponent())


def _force() -> tuple[Step, ...]:
    x, y, angle = sp.symbols("x y phi", real=True)
    r, G, rate, Gamma = sp.symbols("r G lambda Gamma", positive=True)
    polar = {x: r * sp.cos(angle), y: r * sp.sin(angle)}
    square = x**2 + y**2

    def growth(optimizer: str, loss: Loss, **given: sp.Expr) -> tuple[sp.Expr, sp.Symbol]:
        """The rate of change of |w|^4 along the first-order field."""
        result = derive(optimizer, loss, 1, given)
        return 4 * square * (x * result.total[0] + y * result.total[1]), result.constants.lr

    sees_angle = x * y / square
    slope = gradient(sees_angle, (x, y))
    along = sp.cancel(x * slope[0] + y * slope[1])
    steepness = sp.cancel(square * squared(slope))
    loss = Loss((sees_angle,), (x, y))
    plain, lr = growth("gd", loss)
    decayed, _ = growth("gd", loss, weight_decay=rate)
    push = sp.cancel(plain / steepness) * G**2
    decay = sp.factor(sp.cancel((decayed - plain) / square**2))
    closed = 4 * sp.log(1 - lr * rate) / lr
    rest = sp.expand(sp.series(closed, lr, 0, 2).removeO() - decay)
    examples = Loss((sees_angle, (x**2 - y**2) / square, sp.Integer(0)), (x, y))
    shuffled, _ = growth("sgd-without-replacement", examples)
    whole, _ = growth("gd", Loss((examples.mean,), (x, y)))
    noise = sp.factor(sp.cancel((shuffled - whole) / (square * examples.noise))) * Gamma

    t, r0 = sp.symbols("t r_0", positive=True)
    fourth = sp.Function("f")
    flow = sp.Eq(fourth(t).diff(t), push + closed * fourth(t))
    solution = sp.dsolve(flow, fourth(t), ics={fourth(0): r0**4})
    d, f = sp.Symbol("d r^4/dt"), sp.Symbol("r^4")
    return (
        Step("a loss of the angle alone", sp.Eq(sp.Symbol("L"), sp.simplify(sees_angle.subs(polar)))),
        Step("its gradient is orthogonal to the weights", sp.Eq(sp.Symbol("<w, grad L>"), along)),
        Step("its norm at unit weights", sp.Eq(G**2, sp.simplify(steepness.subs(polar)))),
        Step("what (lr/4)*|grad L|^2 does to the norm", sp.Eq(d, push)),
        Step("with decay", sp.Eq(d, push + decay * f)),
        Step("what a logarithm has beyond that decay, through lr", sp.Eq(sp.Symbol("rest"), rest)),
        Step("what the noise of batches of b among three shuffled examples adds", sp.Eq(d, noise)),
        Step("after a time t at a constant rate", sp.Eq(f, solution.rhs)),
    )


def _updates() -> tuple[Step, ...]:
    r, G, C = sp.symbols("r G C", positive=True)
    lr, rate = sp.symbols("lr lambda", nonnegative=True)
    kept, across = 1 - lr * rate, sp.Symbol("|u|", positive=True)
    moved = squared((kept * r, -lr * across))
    keep = sp.Symbol("a", positive=True)
    sgd = sp.expand((keep**2 * r**2 + (moved - kept**2 * r**2).subs(across, G / r)) ** 2)
    return (
        Step("an update at right angles to the weights", sp.Eq(sp.Symbol("r'^2"), moved)),
        Step("of SGD, with a = 1 - lr*lambda", sp.Eq(sp.Symbol("r'^4"), sgd)),
        Step("of a fixed size", sp.Eq(sp.Symbol("r'^2"), moved.subs(across, sp.sqrt(C)))),
    )


def _momentum() -> tuple[Step, ...]:
    beta, ratio = sp.symbols("beta q", positive=True)
    j = sp.Symbol("j", integer=True, nonnegative=True)
    # The first case of each: the ratio is below 1.
    every, later = (sp.summation(ratio**j, (j, first, sp.oo)).args[0][0] for first in (0, 1))
    newest = beta * (1 - beta) + 1 - beta
    share = newest**2 + (beta * (1 - beta)) ** 2 * later.subs(ratio, beta**2)
    average = sp.cancel((1 - beta) * every.subs(ratio, beta))
    return (
        Step(
            "how often a gradient is in the steps of SGD", sp.Eq(sp.Symbol("n_sgd"), every.subs(ratio, beta))
        ),
        Step("in those of Adam's average", sp.Eq(sp.Symbol("n_adam"), average)),
        Step("the squared weights of Muon's Nesterov average", sp.Eq(sp.Symbol("S"), sp.factor(share))),
    )


def _exponent() -> tuple[Step, ...]:
    r0, A, p, tau = sp.symbols("r_0 A p tau", positive=True)
    gains = sp.Symbol("gains", positive=True)
    end = A * (r0**p + gains) ** (1 / p)
    exponent = sp.simplify((r0 / end * end.diff(r0)).subs(gains, tau * r0**p))
    return (
        Step(
            "after any schedule, with A what decay leaves of a length, and each gain undoing decay",
            sp.Eq(sp.Symbol("r"), end),
        ),
        Step("in units of the start, gains = tau*r_0^p", sp.Eq(sp.Symbol("d ln r/d ln r_0"), exponent)),
    )
