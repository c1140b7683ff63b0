"""Build the commands of questions that can also draw their answer as SVG (`availability`, `timeline`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trninv.cli.answer_output import print_answer
from trninv.cli.output import print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import build_command, default_cluster, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.drawing.availability_chart import draw_availability
from trninv.errors import UsageError
from trninv.placement.placement_fleet import Fleet
from trninv.routing.questions import find
from trninv.routing.questions.timeline import TimelineAnswer


def chart_command(name: str, draw: Callable[[Fleet, Any], str], svg_help: str) -> click.Command:
    """Return the command of a question, with an option that writes its answer as SVG."""
    question = find(name)

    @click.pass_obj
    def run(
        database: str,
        /,
        down: tuple[str, ...],
        derate: tuple[str, ...],
        as_of: str | None,
        style: str,
        svg: Path | None,
        **arguments: Any,  # the question's parameters
    ) -> None:
        with open_scenario(database, down, derate, as_of) as fleet, fleet.snapshot() as snapshot:
            with Progress(question.command):
                answer = snapshot.ask(question, **question_arguments(question, default_cluster(snapshot, arguments)))
            print_revision(snapshot.as_of())
            if svg is not None:
                try:
                    svg.write_text(draw(snapshot, answer), encoding="utf-8")
                except OSError as error:
                    raise UsageError(f"can't write {svg}: {error.strerror}") from None
        print_value(style, answer, lambda: print_answer(answer))

    file = click.Path(dir_okay=False, path_type=Path)
    svg = click.Option(["--svg"], type=file, metavar="FILE.svg", help=svg_help)
    return build_command(question, run, svg, requires_place=False)


def _draw_timeline(fleet: Fleet, answer: TimelineAnswer) -> str:
    since = answer.requested_since or answer.since
    return fleet.draw_timeline(answer.scope, since, answer.until, len(answer.buckets)).svg


availability = chart_command(
    "availability",
    lambda _fleet, answer: draw_availability(answer),
    "Also draw availability with confidence intervals to this file.",
)
timeline = chart_command("timeline", _draw_timeline, "Also draw the timeline to this file.")
