"""A command of a question that also draws its answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trninv.cli.output import show, tell, tell_state
from trninv.cli.progress import Progress
from trninv.cli.questions import alone, made, values
from trninv.cli.supposing import asking
from trninv.errors import UsageError
from trninv.routing.questions import find


def charted(name: str, draw: Callable[[Any], str], says: str) -> click.Command:
    """The command of a question, with an option that writes the SVG of its answer."""
    question = find(name)

    @click.pass_obj
    def run(
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
            with Progress(question.command):
                answer = one.ask(question, **values(question, alone(one, given)))
            tell_state(one.as_of())
        if svg is not None:
            try:
                svg.write_text(draw(answer), encoding="utf-8")
            except OSError as error:
                raise UsageError(f"can't write {svg}: {error.strerror}") from None
        show(style, answer, lambda: tell(answer))

    file = click.Path(dir_okay=False, path_type=Path)
    svg = click.Option(["--svg"], type=file, metavar="FILE.svg", help=says)
    return made(question, run, svg, needs_place=False)
