"""Find where a job fits, and print the arguments that a scheduler needs to run it there (`place`)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from trninv.cli.answer_output import print_answer
from trninv.cli.output import encode, print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import ask_and_print, build_command, pop_job_options, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.exporters import schedulers
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE, is_dns_name
from trninv.placement.candidates.results import Placement, group_chips
from trninv.placement.questions import find
from trninv.routing import questions as routing_questions
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.placement.questions.placements import PlacementsAnswer

_PLACEMENTS = find("placements")
_MEMORY_PLACEMENT = routing_questions.find("memory_placement")
_HOSTNAME_OPTION = click.Option(
    ["--hostname"],
    default=DEFAULT_TEMPLATE,
    show_default=True,
    metavar="TEMPLATE",
    help="Pattern of the names that servers without a bound host have in the lines for schedulers, with {cluster}, "
    "{domain} and {server}.",
)
_NEAREST_OPTION = click.Option(
    ["--nearest"],
    type=click.Choice(["best", "here"]),
    help="Find the nearest chips that together have --memory, allocated or not: around the best chip of SCOPE, or "
    "around SCOPE itself.",
)
_MAX_KUBERNETES_LINES = 4
"""Maximum number of Kubernetes lines printed for a placement, one per server; JSON has all."""


@click.pass_obj
def _run_place(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    hostname: str,
    nearest: str | None,
    **arguments: Any,
) -> None:
    if nearest is not None:
        memory_arguments = _memory_arguments(arguments, best=nearest == "best")
        with open_scenario(database, down, derate, as_of) as fleet:
            ask_and_print(fleet, _MEMORY_PLACEMENT, memory_arguments, style)
        return
    with (
        open_scenario(database, down, derate, as_of, *pop_job_options(arguments)) as fleet,
        fleet.snapshot() as snapshot,
    ):
        with Progress("place"):
            answer: PlacementsAnswer = snapshot.ask(_PLACEMENTS, **question_arguments(_PLACEMENTS, arguments))
        print_revision(snapshot.as_of())
        servers = {server for placement in answer.placements for server in placement.servers}
        hosts = {bound.server: bound.host for bound in snapshot.instances(servers) if bound.host}

    answer_json = encode(answer)
    for placement_json, placement in zip(answer_json["placements"], answer.placements, strict=True):
        placement_json.update(_scheduler_lines(placement, hostname, hosts))
    # a table has commands only for the best placement, or for one placement of each copy with --copies
    print_value(
        style,
        answer_json,
        lambda: print_answer(answer, extra_lines=_render_commands(answer.placements[: answer.copies], hostname, hosts)),
    )
    if not answer.is_satisfied():
        raise click.exceptions.Exit(1)


def _memory_arguments(arguments: Mapping[str, Any], *, best: bool) -> dict[str, Any]:
    """Return the arguments of `place --nearest`; require --memory and refuse options that it would ignore."""
    context = click.get_current_context()
    allowed = {"scope", "memory", "nearest", "style", "down", "derate", "as_of"}
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in allowed and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            argument = name.upper() if isinstance(parameter, click.Argument) else parameter.opts[-1]
            raise click.UsageError(f"--nearest takes only SCOPE and --memory; omit {argument}")
    if arguments["memory"] is None:
        raise click.UsageError("--nearest needs --memory, such as --memory 1TiB")
    return {"scope": arguments["scope"], "memory": arguments["memory"], "best": best}


def _scheduler_lines(placement: Placement, hostname: str, hosts: Mapping[str, str]) -> dict[str, Any]:
    """Return the lines for schedulers, and why servers are missing there: Slurm's line then can't be written at all."""
    chips = () if placement.whole_servers else placement.places
    nameless = [server for server in placement.servers if server in hosts and not is_dns_name(hosts[server])]
    servers = [server for server in placement.servers if server not in nameless]
    slurm = None if nameless else schedulers.sbatch_arguments(placement.servers, hostname, hosts)
    return {
        "slurm": slurm,
        "kubernetes": list(schedulers.pod_selectors(servers, chips, hostname, hosts)),
        "nameless": [
            f"{server}: no line can name its host {hosts[server]}, which is no DNS name in lower case"
            for server in nameless
        ],
    }


def _render_commands(placements: Sequence[Placement], hostname: str, hosts: Mapping[str, str]) -> Iterator[str]:
    """Yield lines to paste: the `trninv allocate` command, and arguments for Slurm and Kubernetes."""
    for placement in placements:
        lines = _scheduler_lines(placement, hostname, hosts)
        note = (
            "" if placement.whole_servers else f"   (whole servers: more than the {pluralize(placement.chips, 'chip')})"
        )
        spares = (f" --spare {place}" for place in group_chips(placement.spares))
        yield f"trninv:     trninv allocate JOB {' '.join(group_chips(placement.places))}{''.join(spares)}"
        if lines["slurm"]:
            yield f"Slurm:      {lines['slurm']}{note}"
        yield from (f"Kubernetes: {line}" for line in lines["kubernetes"][:_MAX_KUBERNETES_LINES])
        if (more_servers := len(lines["kubernetes"]) - _MAX_KUBERNETES_LINES) > 0:
            yield f"            … {more_servers:,} more servers (--format json)"
        yield from lines["nameless"]


place = build_command(_PLACEMENTS, _run_place, _HOSTNAME_OPTION, _NEAREST_OPTION)
