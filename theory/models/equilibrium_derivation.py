"""The equilibria from the recursions of second moments, which random gradients leave closed."""

import sympy as sp

from .model import Step

A, ETA, DECAY = sp.symbols("a lr lambda", positive=True)
BETA, C, G, X = sp.symbols("beta C G X", positive=True)
ALONG, BUFFER = sp.symbols("<w.v> |v|^2", real=True)
NEXT_X, NEXT_ALONG, NEXT_BUFFER = sp.Symbol("X'"), sp.Symbol("<w.v>'"), sp.Symbol("(|v|^2)'")


def sgd() -> tuple[Step, ...]:
    """SGD with momentum and decay in the gradient: three moments at rest, with X = r^2."""
    push = G**2 / X  # the mean squared gradient, orthogonal to w and to v in the mean
    moved = BETA * ALONG + DECAY * X  # <w, v'>
    buffer = BETA**2 * BUFFER + push + DECAY**2 * X + 2 * BETA * DECAY * ALONG
    square = X - 2 * ETA * moved + ETA**2 * buffer
    along = moved - ETA * buffer  # <w', v'>
    fourth = sp.Symbol("r^4", positive=True)
    rest = sp.solve([square - X, along - ALONG], [ALONG, BUFFER], dict=True)[0]
    balance = sp.solve(sp.numer(sp.together((buffer - BUFFER).subs(rest))).subs(X, sp.sqrt(fourth)), fourth)
    norm = sp.simplify(balance[0])
    # |w' - w|^2 / |w|^2, both at rest.
    turned = sp.simplify((ETA**2 * rest[BUFFER] / X).subs(X, sp.sqrt(norm)))
    x = sp.Symbol("x", positive=True)
    plain = ((1 - ETA * DECAY) ** 2 * sp.sqrt(x) + ETA**2 * G**2 / sp.sqrt(x)) ** 2
    slope = sp.simplify(plain.diff(x).subs(x, norm.subs(BETA, 0)))
    return (
        Step("the squared norm after an update", sp.Eq(NEXT_X, sp.expand(square))),
        Step("weights and buffer", sp.Eq(NEXT_ALONG, sp.expand(along))),
        Step("the squared buffer", sp.Eq(NEXT_BUFFER, sp.expand(buffer))),
        Step("all three at rest", sp.Eq(fourth, norm)),
        Step("an update turns the weights by delta", sp.Eq(sp.Symbol("4*sin(delta/2)^2"), turned)),
        Step(
            "without momentum, what an update leaves of a deviation of r^4",
            sp.Eq(sp.Symbol("left"), sp.series(slope, DECAY, 0, 2)),
        ),
    )


def decoupled() -> tuple[Step, ...]:
    """An average of gradients of squared norm C, and decoupled decay, with a = 1 - lr*lambda."""
    buffer = BETA**2 * BUFFER + (1 - BETA) ** 2 * C
    square = A**2 * X - 2 * ETA * A * BETA * ALONG + ETA**2 * buffer
    along = A * BETA * ALONG - ETA * buffer
    rest = sp.solve([buffer - BUFFER, along - ALONG, square - X], [BUFFER, ALONG, X], dict=True)[0]
    norm = sp.factor(rest[X])
    versine = sp.factor(1 - (A * X - ETA * BETA * ALONG).subs(rest) / norm)
    small = {A: 1 - ETA * DECAY}
    r, C_ = sp.Symbol("r", positive=True), sp.Symbol("cos(delta)")
    limit = sp.limit(sp.simplify(norm.subs(small) * DECAY), DECAY, 0) / DECAY
    angle = sp.limit(sp.simplify(2 * versine.subs(small) / DECAY), DECAY, 0) * DECAY
    return (
        Step("the squared norm after an update", sp.Eq(NEXT_X, sp.expand(square))),
        Step("weights and buffer", sp.Eq(NEXT_ALONG, sp.expand(along))),
        Step("the squared buffer", sp.Eq(NEXT_BUFFER, buffer)),
        Step("all three at rest", sp.Eq(r**2, norm)),
        Step("an update turns the weights by delta", sp.Eq(C_, 1 - versine)),
        Step("for little decay", sp.Eq(r**2, sp.simplify(limit))),
        Step("and the angle", sp.Eq(sp.Symbol("delta^2"), sp.factor(angle))),
        Step(
            "with that average scaled to the squared norm R, as in Muon without Nesterov's step",
            sp.Eq(r**2, sp.factor(limit.subs(C, sp.Symbol("R", positive=True) * C / rest[BUFFER]))),
        ),
    )


def adam() -> tuple[Step, ...]:
    """Adam with decay in the gradient, which divides it by the root mean square entry G/(r*sqrt(C))."""
    r = sp.Symbol("r", positive=True)
    taken = 2 * DECAY * sp.sqrt(C) / G * r**3  # from r^2, per unit of rate
    drift = ETA**2 * C - ETA * taken
    rest = sp.solve(drift.subs(r, sp.cbrt(X)), X)[0]
    square = sp.Symbol("q", positive=True)
    slope = -drift.subs(r, sp.sqrt(square)).diff(square).subs(square, r**2)
    return (
        Step("what an update changes of r^2", sp.Eq(sp.Symbol("d r^2"), drift)),
        Step("at rest", sp.Eq(r**3, sp.simplify(rest))),
        Step(
            "the rate at which a deviation of r^2 fades", sp.Eq(sp.Symbol("relaxation"), sp.simplify(slope))
        ),
    )


def lion() -> tuple[Step, ...]:
    """Signs of correlated Gaussian mixes, exactly and along a straight line."""
    rho, s, S = sp.symbols("rho s S", positive=True)
    x, sigma = sp.Symbol("x", real=True), sp.Symbol("sigma", positive=True)
    T = sp.Symbol("T", positive=True)
    density = 1 / (2 * sp.pi * sp.sqrt(1 - s**2))  # of two unit normals at the origin
    price = 4 * density  # the derivative of the mean product of signs, each with derivative 2*delta(x)
    product = sp.integrate(price, (s, 0, rho))
    normal = sp.exp(-(x**2) / (2 * sigma**2)) / (sp.sqrt(2 * sp.pi) * sigma)
    slope = 2 * sp.integrate(x * normal, (x, 0, sp.oo)) / sigma**2  # E[x sign x]/E[x^2]
    norm = ETA * C * T / (2 * DECAY)
    # Each unit gradient is in the straight line's steps once, times its slope; sigma^2 is S.
    straight = slope.subs(sigma, sp.sqrt(S)) ** 2
    r = sp.Symbol("r", positive=True)
    return (
        Step(
            "how the mean product of two signs rises with their correlation", sp.Eq(sp.Symbol("slope"), price)
        ),
        Step("the mean product itself", sp.Eq(sp.Symbol("E sign*sign"), product)),
        Step("at rest, T being one plus twice their sum", sp.Eq(r**2, norm)),
        Step("the angle of an update", sp.Eq(sp.Symbol("delta^2"), sp.simplify(ETA**2 * C / norm))),
        Step("the straight line closest to the sign", sp.Eq(sp.Symbol("line"), slope)),
        Step("which has in place of T", sp.Eq(T, straight)),
        Step("and so rests at", sp.Eq(r**2, norm.subs(T, straight))),
        Step("and turns by", sp.Eq(sp.Symbol("delta^2"), sp.simplify((ETA**2 * C / norm).subs(T, straight)))),
    )
