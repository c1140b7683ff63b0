"""Find where a job fits, and print what a scheduler needs (`fits`)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from trninv.cli.output import encode, print_answer, print_revision, print_value
from trninv.cli.progress import Progress
from trninv.cli.questions import build_command, pop_job_options, question_arguments
from trninv.cli.supposing import open_scenario
from trninv.exporters import submission
from trninv.inventory.hostnames import DEFAULT_TEMPLATE
from trninv.jobs.named import group_chips
from trninv.jobs.placing import Placement
from trninv.jobs.questions import find
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.jobs.questions.fits import FitsAnswer

_PLACEMENTS = find("fits")
_HOSTNAME_OPTION = click.Option(
    ["--hostname"],
    default=DEFAULT_TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="What servers are called in the lines for schedulers; {cluster}, {domain} and {server} are filled in.",
)
_MAX_KUBERNETES_LINES = 4
"""At most this many servers get a Kubernetes line each."""


@click.pass_obj
def _run_place(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    at: str | None,
    style: str,
    hostname: str,
    **arguments: Any,
) -> None:
    with (
        open_scenario(database, down, derate, at, *pop_job_options(arguments)) as fleet,
        fleet.in_one_state() as snapshot,
    ):
        with Progress("fits"):
            answer: FitsAnswer = snapshot.ask(_PLACEMENTS, **question_arguments(_PLACEMENTS, arguments))
        print_revision(snapshot.as_of())

    answer_json = encode(answer)
    for placement_json, placement in zip(answer_json["placements"], answer.placements, strict=True):
        placement_json.update(_scheduler_lines(placement, hostname))
    print_value(
        style,
        answer_json,
        lambda: print_answer(answer, extra_lines=_render_commands(answer.placements[: answer.copies], hostname)),
    )
    if not answer.is_satisfied():
        raise click.exceptions.Exit(1)


def _scheduler_lines(placement: Placement, hostname: str) -> dict[str, Any]:
    chips = () if placement.whole_servers else placement.places
    return {
        "slurm": submission.sbatch_arguments(placement.servers, hostname),
        "kubernetes": list(submission.pod_selectors(placement.servers, chips, hostname)),
    }


def _render_commands(placements: Sequence[Placement], hostname: str) -> Iterator[str]:
    """Yield lines to paste: the `trninv hold` command, and arguments for Slurm and Kubernetes."""
    for placement in placements:
        lines = _scheduler_lines(placement, hostname)
        note = (
            "" if placement.whole_servers else f"   (whole servers: more than the {pluralize(placement.chips, 'chip')})"
        )
        spares = (f" --spare {place}" for place in group_chips(placement.spares))
        yield f"hold:       trninv hold JOB {' '.join(group_chips(placement.places))}{''.join(spares)}"
        yield f"Slurm:      {lines['slurm']}{note}"
        yield from (f"Kubernetes: {line}" for line in lines["kubernetes"][:_MAX_KUBERNETES_LINES])
        if (more_servers := len(placement.servers) - _MAX_KUBERNETES_LINES) > 0:
            yield f"            … {more_servers:,} more servers (--format json)"


fits = build_command(_PLACEMENTS, _run_place, _HOSTNAME_OPTION)
