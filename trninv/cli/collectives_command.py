"""Find the limits of the wiring on collectives, or compare measured ones with them (`collectives`)."""

from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from trninv.cli.answer_output import print_answer
from trninv.cli.output import print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import ask_and_print, build_command, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.drawing.measurement_chart import draw_measurements
from trninv.errors import UsageError
from trninv.routing.questions import find

_COLLECTIVES, _MEASURED = find("collectives"), find("measured_bandwidth")
_IGNORED: Final = {"chips": "--chips", "down": "--down", "derate": "--derate"}
"""Options of the limits alone."""


@click.pass_obj
def _run_collectives(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    measured: bool,
    last: int | None,
    svg: Path | None,
    **arguments: Any,
) -> None:
    if not measured:
        if last is not None or svg is not None:
            raise click.UsageError("--last and --svg show measurements; add --measured")
        with open_scenario(database, down, derate, as_of) as fleet:
            ask_and_print(fleet, _COLLECTIVES, arguments, style)
        return
    context = click.get_current_context()
    for name, option in _IGNORED.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--measured shows what was measured; omit {option}")
    with open_scenario(database, (), (), as_of) as fleet, fleet.snapshot() as snapshot:
        with Progress("collectives"):
            answer = snapshot.ask(_MEASURED, **question_arguments(_MEASURED, arguments | {"last": last}))
        print_revision(snapshot.as_of())
    if svg is not None:
        try:
            svg.write_text(draw_measurements(answer).to_file(), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"can't write {svg}: {error.strerror}") from None
    print_value(style, answer, lambda: print_answer(answer))


collectives = build_command(
    _COLLECTIVES,
    _run_collectives,
    click.Option(["--measured"], is_flag=True, help="Compare imported measurements with the limits at their time."),
    click.Option(["--last"], type=click.IntRange(1, 10_000), help="With --measured: most measurements to list."),
    click.Option(
        ["--svg"],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE.svg",
        help="With --measured: also draw them by message size to this file.",
    ),
)
