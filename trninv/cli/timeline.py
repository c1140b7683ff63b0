"""timeline: how many parts were not up over time, as bars, as JSON, and as a picture."""

from pathlib import Path
from typing import Any

import click

from trninv.cli.output import show, tell, tell_state
from trninv.cli.questions import made, values
from trninv.cli.supposing import asking
from trninv.drawing.timeline import picture
from trninv.errors import UsageError
from trninv.routing.questions import find

_TIMELINE = find("timeline")


@click.pass_obj
def _run(
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
        answer = one.ask(_TIMELINE, **values(_TIMELINE, given))
        tell_state(one.as_of())
    if svg is not None:
        try:
            svg.write_text(picture(answer), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"can't write {svg}: {error.strerror}") from None
    show(style, answer, lambda: tell(answer))


timeline = made(
    _TIMELINE,
    _run,
    click.Option(
        ["--svg"], type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Draw it there as well."
    ),
)
