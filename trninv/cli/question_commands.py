"""Build a command from the declaration of each question; `main` looks it up by the question's file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import click

from trninv.cli.answer_output import answer_options, answer_servers, print_answer, require_value
from trninv.cli.output import encode, format_option, print_revision, print_value
from trninv.cli.parameter_options import build_options, help_text
from trninv.cli.progress_line import Progress
from trninv.cli.scenario_options import open_scenario, scenario_options
from trninv.errors import UsageError, WorkerError, how_to_install
from trninv.placement import questions as placement_questions
from trninv.routing import questions as routing_questions
from trninv.routing.evidence import servers_in_answer
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import Question
from trninv.units import Capacity

SCHEDULER_OPTION = click.Option(
    ["--scheduler"], metavar="TCP://…", help="Run on a Dask cluster (needs the extra dask)."
)


@contextmanager
def dask_executor(scheduler: str | None) -> Iterator[Executor | None]:
    """Yield the executor of a Dask cluster, or None without a scheduler, so that work runs in local processes."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 # an optional dependency
    except ImportError:
        raise UsageError(f"--scheduler needs Dask: {how_to_install('dask')}") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler at {scheduler}: {str(error).partition(chr(10))[0]}") from None
    with client:
        yield client.get_executor()


def question_command(file: str) -> click.Command:
    """Return the command that asks the question declared in a file, optionally as of a time or under a scenario."""
    question = (placement_questions if file in placement_questions.NAMES else routing_questions).find(file)

    @click.pass_obj
    def run(
        database: str,
        /,
        down: tuple[str, ...],
        derate: tuple[str, ...],
        as_of: str | None,
        style: str,
        **arguments: Any,
    ) -> None:
        with open_scenario(database, down, derate, as_of, *pop_job_options(arguments)) as fleet:
            ask_and_print(fleet, question, arguments, style)

    return build_command(question, run)


def ask_and_print(
    fleet: BaseFleet,
    question: Question,
    arguments: Mapping[str, Any],
    style: str,
    make_change: Callable[[Any], Iterable[str]] = lambda _: (),
) -> None:
    """Ask a question and print the answer with its revision; exit with 1 if it is negative, such as no path.

    Parameters
    ----------
    make_change
        Carries out the answer, a plan, before it is printed, so that a refused plan is not; returns lines to print
        after it.

    """
    with fleet.snapshot() as snapshot:
        with Progress(question.command):
            answer = snapshot.ask(question, **question_arguments(question, arguments))
        # a table has a column for the instances of the servers that it lists, JSON those of all servers in the answer
        instances = snapshot.instances(answer_servers(answer) if style == "table" else servers_in_answer(answer))
        print_revision(snapshot.as_of())
    if style == "table":
        require_value(answer)
    extra_lines = make_change(answer)
    content = encode(answer) | {"instances": instances} if style == "json" and instances else answer
    names = {instance.server: " ".join(filter(None, (instance.host, instance.instance))) for instance in instances}
    print_value(style, content, lambda: print_answer(answer, instances=names, extra_lines=extra_lines))
    if not answer.is_satisfied():
        raise click.exceptions.Exit(1)


def default_cluster(fleet: BaseFleet, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with the only cluster as the scope if they have no scope."""
    if arguments["scope"] is not None:
        return dict(arguments)
    return {**arguments, "scope": fleet.only_cluster()}


def build_command(
    question: Question, callback: Callable[..., None], *extra_parameters: click.Parameter, requires_place: bool = True
) -> click.Command:
    """Return a command with a question's parameters, extra parameters and the scenario's options.

    If `requires_place` is False, the argument SCOPE is optional.
    """
    command = click.Command(
        question.command,
        params=[
            *(
                option
                for parameter in question.parameters
                for option in build_options(parameter, is_optional=not requires_place)
            ),
            *extra_parameters,
        ],
        callback=callback,
        help=help_text(question.description, question.examples),
    )
    return scenario_options(format_option(answer_options(command)), jobs=question.name in placement_questions.NAMES)


def pop_job_options(arguments: dict[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Remove the scenario's job options from the arguments and return them: assumed allocations, assumed releases."""
    return arguments.pop("with_", ()), arguments.pop("without", ())


def question_arguments(question: Question, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a question's parameters, or their defaults; a memory size without a unit is in bytes."""
    parsed = {}
    for parameter in question.parameters:
        value = arguments[parameter.name]
        if issubclass(parameter.value_type, Capacity) and value is not None:
            value = int(value) if value.strip().isdecimal() else value
        parsed[parameter.name] = parameter.default if value is None and not parameter.is_required else value
    return parsed
