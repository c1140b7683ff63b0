"""availability: how much of a time parts were up, as a table, as JSON, and as a chart."""

from pathlib import Path
from typing import Any

import click

from trninv.cli.output import show, tell, tell_state
from trninv.cli.questions import made, values
from trninv.cli.supposing import asking
from trninv.drawing.availability import draw
from trninv.errors import UsageError
from trninv.routing.questions import find

_AVAILABILITY = find("availability")


@click.pass_obj
def _run(  # an option each
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
    style: str,
    svg: Path | None,
    **given: Any,  # as the question declares
) -> None:
    with asking(database, down, derate, at) as fleet, fleet.in_one_state() as one:
        answer = one.ask(_AVAILABILITY, **values(_AVAILABILITY, given))
        tell_state(one.as_of())
    if svg is not None:
        try:
            svg.write_text(draw(answer), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"can't write {svg}: {error.strerror}") from None
    show(style, answer, lambda: tell(answer))


availability = made(
    _AVAILABILITY,
    _run,
    click.Option(
        ["--svg"],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE.svg",
        help="Also draw availability with its confidence intervals there.",
    ),
)
