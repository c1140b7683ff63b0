"""Print answers for people: with --explain also their definition and sources, with -q only the value."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from trninv.cli.messages import print_hint, print_wrapped
from trninv.cli.output import print_table
from trninv.errors import UsageError
from trninv.rendered_text import Detail, Rendered, RenderedTable
from trninv.routing.answer import Answer, WiringSource
from trninv.units import pluralize

_ADDRESS_COLUMN: Final = "address"
_NO_INSTANCES: Mapping[str, str] = {}
_EXPLAIN, _VALUE_ONLY = "trninv.explain", "trninv.value_only"
"""Keys of the options' values in the context of a command."""


def _store(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # click's signature
    context.meta[_EXPLAIN if parameter.name == "explain" else _VALUE_ONLY] = value


def answer_options(command: click.Command) -> click.Command:
    """Add --explain and -q to the command of a question; `print_answer` heeds them."""
    flags: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _store}
    command.params += [
        click.Option(["--explain", "-v"], help="Also print details, the definition and the sources.", **flags),
        click.Option(["--quiet", "-q"], help="Print only the value with its unit; two lines are its bounds.", **flags),
    ]
    return command


def print_answer(
    answer: Answer,
    max_rows: int | None = None,
    instances: Mapping[str, str] = _NO_INSTANCES,
    extra_lines: Iterable[str] = (),
) -> None:
    """Print an answer, its comparison with the fleet without the scenario, and extra lines.

    With --explain, also print its details, its definition and its sources; with -q, only its value.

    Parameters
    ----------
    max_rows
        Maximum number of rows of each table; None for all.
    instances
        Names of the instances in servers, by the servers' addresses; tables that list addresses get a column with them.
    extra_lines
        Lines of the command itself, such as arguments for a scheduler.

    Raises
    ------
    UsageError
        The answer has no single value for -q.

    """
    require_value(answer)
    if _is_value_only(answer):
        click.echo("\n".join(str(value).replace(",", "") for value in answer.value_lines()))
        return
    explain = bool(click.get_current_context().meta.get(_EXPLAIN))
    print_blocks(answer.render(), max_rows, instances, details=explain)
    for line in (*answer.render_comparison(), *extra_lines):
        print_wrapped(str(line))
    if explain:
        _print_footnotes(answer)
    else:
        _print_doubts(answer)


def require_value(answer: Answer) -> None:
    """Refuse -q if the answer has no single value; call it before a change that the answer plans is made."""
    if _is_value_only(answer) and not answer.value_lines():
        raise UsageError("this answer has no single value; use --format json instead of -q")


def _is_value_only(answer: Answer) -> bool:
    return bool(click.get_current_context().meta.get(_VALUE_ONLY)) and answer.is_satisfied()


def print_blocks(
    blocks: Rendered,
    max_rows: int | None = None,
    instances: Mapping[str, str] = _NO_INSTANCES,
    *,
    details: bool = True,
) -> None:
    """Print lines and tables, without details unless they are wanted; see `print_answer` for the other parameters."""
    for block in blocks:
        if not details and (isinstance(block, Detail) or (isinstance(block, RenderedTable) and block.is_detail)):
            continue
        if not isinstance(block, RenderedTable):
            print_wrapped(block)
            continue
        headers, cells = block.headers, [list(line) for line in block.rows]
        if instances and _ADDRESS_COLUMN in headers:
            index = headers.index(_ADDRESS_COLUMN)
            headers = [*headers, "instance"]
            cells = [[*line, instances.get(server_of(line[index]))] for line in cells]
        print_table(headers, cells[:max_rows], optional_columns=block.optional_columns)
        if len(cells) > len(cells[:max_rows]):
            click.echo(f"… {len(cells) - len(cells[:max_rows]):,} more (--top, --format json)")


def answer_servers(answer: Answer) -> set[str]:
    """Return the addresses of the servers that an answer's tables list, or that contain the listed parts."""
    blocks = [
        block for block in answer.render() if isinstance(block, RenderedTable) and _ADDRESS_COLUMN in block.headers
    ]
    return {server_of(list(line)[block.headers.index(_ADDRESS_COLUMN)]) for block in blocks for line in block.rows}


def server_of(address: object) -> str:
    """Return the address of the server that contains a chip, core, NIC or a link's first end."""
    return "/".join(str(address).split("--")[0].split("/")[:3])


def _print_doubts(answer: Answer) -> None:
    """Print which facts are disputed or assumed, and on a terminal how to see all of them."""
    for doubt in ("disputed", "assumed"):
        doubtful = [f"{fact.subject} {fact.attribute}" for fact in answer.facts if getattr(fact, doubt)]
        if doubtful:
            print_wrapped(f"{doubt}: {', '.join(doubtful)} (--explain)")
    if answer.wiring_source is not WiringSource.DESIGN:
        print_wrapped("wiring as the driver's table reports it, not measured")
    print_hint(f"--explain: the definition and {pluralize(len(answer.facts), 'source')}")


def _print_footnotes(answer: Answer) -> None:
    print_wrapped(f"\nmeaning: {answer.definition}")
    if answer.wiring_source is not WiringSource.DESIGN:
        print_wrapped("evidence: wiring as the driver's table reports it, not measured")
    for fact in answer.facts:
        print_wrapped(f"evidence: {fact.subject} {fact.attribute} {fact.value}, from {fact.source}: {fact.quote}")
    for note in dict.fromkeys(fact.note for fact in answer.facts if fact.disputed and fact.note):
        print_wrapped(f"disputed: {note}")
    for fact in answer.facts:
        if fact.assumed:
            print_wrapped(f"assumed: {fact.subject} {fact.attribute}")
