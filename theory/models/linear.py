r"""Least squares along one direction: where no example reaches, and where the examples have curvature h.

With :math:`\delta` the difference of two runs that see the same batches, one update is exactly

.. math:: v' = \beta v + (S_k + \lambda)\,\delta, \qquad \delta' = \delta - \eta_k v',

where :math:`S_k` is the batch's curvature, of mean h; without momentum
:math:`\delta' = (1 - \eta_k(S_k + \lambda))\,\delta`. The mean over batches follows the same recursion with
h in place of :math:`S_k`, because a batch is independent of what came before it: noise does not speed up
the forgetting of the mean, and it slows that of the mean square. Where no example reaches, S = 0 for every
batch, and only decay forgets.
"""

import math

import numpy as np

from ..errors import InvalidInput
from ..trace import Array, Trace
from .model import Law, MemoryModel, Step
from .updates import run


def recursion(trace: Trace, curvature: float) -> Array:
    r"""What is left of a difference along an eigenvector after each update, exactly.

    Parameters
    ----------
    trace : Trace
        Of SGD, or of any optimizer with decoupled decay if `curvature` is 0.
    curvature : float
        Eigenvalue h of the Hessian of the data.

    Returns
    -------
    ndarray, shape (updates,)
        Negative where momentum or a large learning rate carries the difference beyond zero.

    Examples
    --------
    >>> recursion(Trace(lr=np.full(2, 0.1), weight_decay=1.0), 1.0).round(12).tolist()
    [0.8, 0.64]
    """
    coupled = trace.decay_law == "coupled"
    inside = curvature + (trace.weight_decay if coupled else 0.0)
    outside = 0.0 * trace.lr if coupled else trace.lr * trace.weight_decay
    beta = trace.momentum_coefficient if trace.optimizer == "sgd" else 0.0
    if beta == 0:
        return np.cumprod(1 - outside - trace.lr * inside, dtype=float)
    left, delta, buffer = np.empty(trace.updates), 1.0, 0.0
    each = np.broadcast_to(inside, (trace.updates,)).tolist()
    for k, (lr, slope, decay) in enumerate(zip(trace.lr.tolist(), each, outside.tolist(), strict=True)):
        buffer = beta * buffer + slope * delta
        delta = (1 - decay) * delta - lr * buffer
        left[k] = delta
    return left


def null_memory(trace: Trace) -> Array:
    """What decay leaves where no example reaches: all of it without decay, for every optimizer."""
    if trace.optimizer == "adam" and trace.weight_decay.any():
        raise InvalidInput(
            "null-space has no law for adam with coupled weight decay, which moves weights by fixed steps: "
            "give --weight-decay 0, the optimizer adamw, or the model gradient-free."
        )
    return recursion(trace, 0.0)


def null_age(trace: Trace) -> Array:
    """T_L2 after each update."""
    return np.cumsum(trace.decay)


def row_memory(trace: Trace, curvature: float) -> Array:
    """What is left on average of a difference along a direction of the data.

    Raises
    ------
    InvalidInput
        If the difference grows, which is not forgetting but divergence.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        left = recursion(trace, curvature)
    if not (np.abs(left) <= 1 + 1e-12).all():
        raise InvalidInput(
            f"lr = {trace.lr.max():g} with curvature = {curvature:g} is beyond stability, where differences "
            f"grow: lower one of them."
        )
    return left


def row_age(trace: Trace, curvature: float) -> Array:
    """T_L2 plus the summed effective learning rate times h."""
    return np.cumsum(trace.effective_lr * curvature + trace.decay)


def exact(trace: Trace, **settings: float) -> Law:
    """The recursion is the law."""
    return "exact"


def simulate_null(trace: Trace, seeds: int, rng: np.random.Generator) -> Array:
    """Two runs on the same batches of noisy examples in one direction of a plane, oblique to the axes."""
    data, null = np.array([0.8, 0.6]), np.array([-0.6, 0.8])
    batch = trace.batch_size

    def gradient(k: int, w: Array) -> Array:
        curvature = rng.chisquare(batch[k], seeds) / batch[k]
        label_noise = rng.normal(0, 0.3 / math.sqrt(batch[k]), seeds)
        return (curvature * (w @ data - 1) + label_noise)[..., None] * data

    start = np.zeros((2, seeds, 2))
    start[1] += null
    first, second = run(trace, start, gradient)
    return (second - first) @ null


def simulate_row(trace: Trace, seeds: int, rng: np.random.Generator, curvature: float) -> Array:
    """The difference of two runs on the same batches of Gaussian examples in a plane."""
    batch = trace.batch_size

    def gradient(k: int, delta: Array) -> Array:
        # Bartlett: the second moments of a batch, without drawing its examples.
        a, c = np.sqrt(rng.chisquare((batch[k], max(batch[k] - 1, 1e-300)), (seeds, 2))).T
        e = rng.normal(size=seeds)
        c = c if batch[k] > 1 else np.zeros(seeds)
        x, y = delta.T
        scale = curvature / batch[k]
        return scale * np.stack([a * a * x + a * e * y, a * e * x + (e * e + c * c) * y], axis=-1)

    return run(trace, np.tile([1.0, 0.0], (seeds, 1)), gradient)[:, 0]


def derive_null() -> tuple[Step, ...]:
    """The modified loss of least squares has no slope where no example reaches, whatever its order."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    x, y, n0 = sp.symbols("x y n_0", real=True)
    rate, t = sp.Symbol("lambda", positive=True), sp.Symbol("t", nonnegative=True)
    seen, unseen = (4 * x + 3 * y) / 5, (4 * y - 3 * x) / 5
    loss = Loss.of((seen - 1) ** 2 / 2, (2 * seen + 1) ** 2 / 2)

    def along(optimizer: str, order: int, **given: sp.Expr) -> tuple[sp.Expr, sp.Symbol]:
        result = derive(optimizer, loss, order, given)
        return sp.expand((4 * result.total[1] - 3 * result.total[0]) / 5), result.constants.lr

    plain, _ = along("gd", 3)
    noisy, _ = along("sgd-without-replacement", 1, batch_size=sp.Integer(1))
    decayed, lr = along("gd", 3, weight_decay=rate)
    speed = sp.cancel(decayed / unseen)
    closed = sp.log(1 - lr * rate) / lr
    rest = sp.series(closed - speed, lr, 0, 4).removeO()
    n = sp.Function("n")
    solution = sp.dsolve(sp.Eq(n(t).diff(t), closed * n(t)), n(t), ics={n(0): n0})
    return (
        Step(
            "the field of gradient descent through lr^3, along what no example sees",
            sp.Eq(n(t).diff(t), plain),
        ),
        Step("the same with the noise of shuffled batches", sp.Eq(n(t).diff(t), noisy)),
        Step("with decay, in units of n", sp.Eq(n(t).diff(t) / n(t), speed)),
        Step("what a logarithm has beyond that, through lr^3", sp.Eq(sp.Symbol("rest"), rest)),
        Step("so that k updates leave (1 - lr*lambda)^k", solution),
    )


def derive_row() -> tuple[Step, ...]:
    """All orders of the modified flow of a quadratic add up to a logarithm, the product over updates."""
    import sympy as sp  # a third of a second that the laws need not wait for

    from ..optimizers.derivation import derive
    from ..optimizers.loss import Loss

    x, d0 = sp.symbols("x delta_0", real=True)
    h, t = sp.Symbol("h", positive=True), sp.Symbol("t", nonnegative=True)
    result = derive("gd", Loss((h * x**2 / 2,), (x,)), 4)
    lr, speed = result.constants.lr, sp.expand(result.total[0] / x)
    closed = sp.log(1 - lr * h) / lr
    rest = sp.series(closed - speed, lr, 0, 5).removeO()
    delta = sp.Function("delta")
    solution = sp.dsolve(sp.Eq(delta(t).diff(t), closed * delta(t)), delta(t), ics={delta(0): d0})
    return (
        Step(
            "the field of gradient descent through lr^4, in units of delta",
            sp.Eq(delta(t).diff(t) / delta(t), speed),
        ),
        Step("what a logarithm has beyond that, through lr^4", sp.Eq(sp.Symbol("rest"), rest)),
        Step("so that k updates leave (1 - lr*h)^k", solution),
    )


NULL_SPACE = MemoryModel(
    name="null-space",
    title="Least squares where no example reaches",
    remembers="the part of the start that no example sees",
    optimizers=("sgd", "adam", "adamw", "muon"),
    settings={},
    formula="prod_k (1 - lr_k*lambda), all of it without decay",
    latex=r"\prod_k (1-\eta_k\lambda)",
    clock="T_L2, with constant 1",
    law=exact,
    age=null_age,
    memory=null_memory,
    simulate=simulate_null,
    derive=derive_null,
    assumptions=(
        "the update depends on the start through gradients alone",
        "decay is coupled under sgd, decoupled under adamw and muon",
    ),
    references=("zhang2017understanding", "gunasekar2018characterizing"),
)

ROW_SPACE = MemoryModel(
    name="row-space",
    title="Least squares where the examples have curvature h",
    remembers="the mean difference between two starts along an eigenvector of the Hessian",
    optimizers=("sgd",),
    settings={"curvature": 1.0},
    formula="prod_k (1 - lr_k*(h + lambda)); with momentum its two-term recursion",
    latex=r"\prod_k (1-\eta_k(h+\lambda))",
    clock="sum lr, with constant h; T_L2, with constant 1; minibatch noise does not speed it up",
    law=exact,
    age=row_age,
    memory=row_memory,
    simulate=simulate_row,
    derive=derive_row,
    assumptions=("the batch is drawn independently of what came before",),
    references=("bottou2018optimization",),
)
