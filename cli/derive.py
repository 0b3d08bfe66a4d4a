"""``initmem-theory derive``: what an optimizer's steps really follow, as formulas."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..theory.optimizers import NAMES

if TYPE_CHECKING:
    from ..theory.optimizers.derivation import Derivation
    from ..theory.optimizers.formula import Formula
    from ..theory.optimizers.optimizer import Optimizer

# Formulas longer than this fill the screen without being read.
LONGEST = 600
# Text of this many parts takes a second.
UNWRITTEN = 100_000
# Longer labels leave no room for what they label.
WIDEST = 40
# Simplification may take minutes where a formula has more parts.
SIMPLE = 100


def command(
    optimizer: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")],
    loss: Annotated[
        list[str] | None,
        typer.Option(
            help="Formula of the loss; repeat it once for each training example. General if left out."
        ),
    ] = None,
    order: Annotated[int, typer.Option(help="Keep terms through this power of the learning rate.")] = 1,
    lr: Annotated[str | None, typer.Option(help="Learning rate.")] = None,
    beta: Annotated[
        str | None, typer.Option(help="Momentum of heavy-ball, nesterov, ngd, sign and muon.")
    ] = None,
    beta1: Annotated[str | None, typer.Option(help="Of the Adam family and lion.")] = None,
    beta2: Annotated[str | None, typer.Option(help="Of the Adam family, rmsprop and lion.")] = None,
    eps: Annotated[str | None, typer.Option(help="Of the Adam family and rmsprop, inside the root.")] = None,
    weight_decay: Annotated[str | None, typer.Option(help="Decay coefficient.")] = None,
    decay_law: Annotated[
        str | None, typer.Option(help="coupled, decoupled or independent.", show_default="the usual one")
    ] = None,
    batch_size: Annotated[str | None, typer.Option(help="Examples of one update.")] = None,
    train_size: Annotated[str | None, typer.Option(help="Training examples.")] = None,
    at: Annotated[
        list[str] | None, typer.Option(help="A point to evaluate at, as in x=1,y=-0.5; it may be repeated.")
    ] = None,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX document.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Derive the modified field and objective of an optimizer.

    Time is lr * updates, the field is d theta/dt, and order n keeps terms through lr^n: 0 is the plain
    flow, 1 the first correction. A constant that is not given stays a symbol.
    """
    from ..theory.errors import InvalidInput
    from ..theory.expression import parse_number, parse_point

    if as_latex and as_json:
        raise InvalidInput("--latex and --json were both given: give one.")
    texts = {
        "lr": lr,
        "beta": beta,
        "beta1": beta1,
        "beta2": beta2,
        "eps": eps,
        "weight_decay": weight_decay,
        "batch_size": batch_size,
        "train_size": train_size,
    }
    given: dict[str, Any] = {name: parse_number(text) for name, text in texts.items() if text is not None}
    if decay_law is not None:
        given["decay_law"] = decay_law
    if loss:
        from ..theory.optimizers.derivation import derive
        from ..theory.optimizers.loss import Loss

        result = derive(optimizer, Loss.parse(loss), order, given, parse_point(",".join(at)) if at else None)
        _show(result, as_latex, as_json)
    else:
        if at:
            raise InvalidInput("--at was given without --loss: give the loss to evaluate.")
        from ..theory.optimizers.derivation import general

        _show_general(*general(optimizer, order, given), order, as_latex, as_json)


def _show(result: "Derivation", as_latex: bool, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(result.to_dict(), allow_nan=False))
    elif as_latex:
        from ..theory.optimizers.document import of_derivation

        print(of_derivation(result), end="")
    else:
        _print(result)


def _show_general(
    optimizer: "Optimizer", formula: "Formula", order: int, as_latex: bool, as_json: bool
) -> None:
    if as_json:
        import json

        named = {"optimizer": optimizer.name, "order": order, "references": list(optimizer.references)}
        print(json.dumps(named | formula.to_dict()))
    elif as_latex:
        from ..theory.optimizers.document import of_formula

        print(of_formula(optimizer, formula, order), end="")
    else:
        from rich.console import Console

        from ..theory.optimizers.formula import added

        console = Console(highlight=False)
        console.print(f"[bold]{optimizer.title}[/bold] ({optimizer.name}), {_through(order)}")
        console.print("time t = lr * updates\n")
        for n, line in enumerate(added(formula.field)):
            console.print(
                "d theta/dt = " if n == 0 else "             ", line, sep="", markup=False, soft_wrap=True
            )
        if formula.objective is not None:
            console.print("\nobjective  = ", formula.objective, sep="", markup=False, soft_wrap=True)
        console.print()
        _print_facts(console, [("where" if n == 0 else "", note) for n, note in enumerate(formula.notation)])
        _print_source(console, optimizer)


def _print(result: "Derivation") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    facts = _facts(result)  # before anything is printed, for a value may be refused
    console = Console(highlight=False)
    title = f"[bold]{result.optimizer.title}[/bold] ({result.optimizer.name}), {_through(result.field.order)}"
    console.print(title)
    console.print("time t = lr * updates; the field is d theta/dt = the sum of these\n")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for n, term in enumerate(result.field.terms):
        for i, (variable, component) in enumerate(zip(result.loss.variables, term, strict=True)):
            power = "" if i else ("1" if n == 0 else "lr" if n == 1 else f"lr^{n}")
            table.add_row(f"{power} *" if power else "", f"d{variable}/dt", escape(_short(component)))
    console.print(table)
    console.print()
    _print_facts(console, facts)
    for warning in result.warnings:
        console.print("[yellow]Note:[/yellow]", escape(warning))
    _print_source(console, result.optimizer)


def _facts(result: "Derivation") -> list[tuple[str, str]]:
    from ..theory.backward_error.text import brief

    facts = []
    goal = result.objective
    if goal is not None:
        facts += [("objective", _short(goal.expression)), ("field", goal.field)]
    if result.diffusion is not None:
        facts.append(
            (
                "noise",
                f"covariance {_short(result.diffusion.applyfunc(_simple).tolist())} per unit of time",
            )
        )
    if result.point:
        here = ", ".join(f"{symbol} = {brief(value)}" for symbol, value in result.point.items())
        name = f"at {here}" if len(here) <= WIDEST else "at the point"
        values = result.field_at
        if values is not None:
            facts.append((name, f"field = ({', '.join(f'{value:.10g}' for value in values)})"))
        height = None if goal is None else result.evaluate(goal.expression)
        if height is not None:
            facts.append((name, f"objective = {height:.10g}"))
        if goal is None and result.optimizer.weights is not None:
            for n, value in enumerate(result.curl_at or []):
                if result.is_gradient[n] is False:
                    facts.append((name, f"curl of the lr^{n} term = {_curl(value)}"))
    for row in result.rates or []:
        rate = "none: no real flow" if row["rate"] is None else f"{row['rate']:.10g}"
        facts.append((f"curvature {row['curvature']:g}", f"exact rate, all orders: {rate}"))
    validity = result.validity
    if validity.value is not None and validity.within:
        facts.append(("validity", f"{validity.parameter} = {validity.value:.4g}, below {validity.limit:.4g}"))
    return facts


def _curl(values: "dict[str, float | None]") -> str:
    known = {pair: part for pair, part in values.items() if part is not None}
    if len(values) == 1:
        return "".join(f"{part:.10g}" for part in known.values()) or "not known"
    return ", ".join(f"{part:.6g} ({pair})" for pair, part in known.items())


def _simple(expression: Any) -> Any:
    import sympy as sp

    from ..theory.backward_error.parts import length

    return sp.simplify(expression) if length(expression) <= SIMPLE else expression


def _short(expression: Any) -> str:
    from ..theory.backward_error.parts import length
    from ..theory.backward_error.text import written

    parts = 0 if isinstance(expression, list) else length(expression)
    if parts > UNWRITTEN:
        return f"{parts:,} names and operations, --json has all"
    text = written(expression)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters, --json has all)"


def _through(order: int) -> str:
    return "the plain flow" if order == 0 else f"through lr^{order}"


def _print_source(console: Any, optimizer: "Optimizer") -> None:
    from ..theory.references import short

    console.print()
    works = "; ".join(short(key).partition(",")[0] for key in optimizer.references)
    assumed = [("assumes" if n == 0 else "", line) for n, line in enumerate(optimizer.assumptions)]
    _print_facts(console, [*assumed, ("from", f"{works} (initmem-theory cite {optimizer.name})")])


def _print_facts(console: Any, facts: list[tuple[str, str]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(name, escape(text))
    console.print(table)
