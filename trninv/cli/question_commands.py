"""Build a command from each declared question."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import click

from trninv.cli.output import answer_servers, encode, format_option, print_answer, print_revision, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.scenario_options import open_scenario, scenario_options
from trninv.cli.shell_completion import ADDRESS
from trninv.errors import UsageError, WorkerError
from trninv.inventory.address.lookup import only_cluster
from trninv.placement import questions as placement_questions
from trninv.routing import questions as routing_questions
from trninv.routing.evidence import servers_in_answer
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import Question, QuestionParameter
from trninv.units import Capacity

SCHEDULER_OPTION = click.Option(
    ["--scheduler"], metavar="TCP://…", help="Run on a Dask cluster (pip install trninv[dask])."
)


@contextmanager
def dask_executor(scheduler: str | None) -> Iterator[Executor | None]:
    """Yield the executor of a Dask cluster, or None if no scheduler is given: work then runs in local processes."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 # an optional dependency
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'trninv[dask]'") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler at {scheduler}: {str(error).partition(chr(10))[0]}") from None
    with client:
        yield client.get_executor()


_MAX_EXAMPLE_COLUMNS = 76
"""Columns of an example on a help page, which indents it by two."""


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


def ask_and_print(fleet: BaseFleet, question: Question, arguments: Mapping[str, Any], style: str) -> None:
    """Ask a question and print the answer with its revision; exit with 1 if the answer is not satisfied."""
    with fleet.snapshot() as snapshot:
        with Progress(question.command):
            answer = snapshot.ask(question, **question_arguments(question, arguments))
        instances = snapshot.instances(answer_servers(answer) if style == "table" else servers_in_answer(answer))
        print_revision(snapshot.as_of())
    content = encode(answer) | {"instances": instances} if style == "json" and instances else answer
    names = {instance.server: " ".join(filter(None, (instance.host, instance.instance))) for instance in instances}
    print_value(style, content, lambda: print_answer(answer, instances=names))
    if not answer.is_satisfied():
        raise click.exceptions.Exit(1)


def default_cluster(fleet: BaseFleet, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the only cluster as the place if none is given."""
    if arguments["scope"] is not None:
        return dict(arguments)
    with fleet.connect() as connection:
        return {**arguments, "scope": only_cluster(connection)}


def build_command(
    question: Question, callback: Callable[..., None], *extra_parameters: click.Parameter, requires_place: bool = True
) -> click.Command:
    """Return a command with a question's parameters, extra ones and the scenario's options.

    If `requires_place` is False, the place is optional.
    """
    examples = "".join(f"{_wrap_example(f'trninv {example}')}\n" for example in question.examples)
    command = click.Command(
        question.command,
        params=[
            *(
                option
                for parameter in question.parameters
                for option in _build_options(parameter, is_optional=not requires_place)
            ),
            *extra_parameters,
        ],
        callback=callback,
        help=f"{question.description}\n\n\b\n{examples}",
    )
    return scenario_options(format_option(command), jobs=question.name in placement_questions.NAMES)


def _wrap_example(example: str) -> str:
    """Return an example, with a backslash and a line break before an option if it is too long for a help page."""
    if len(example) <= _MAX_EXAMPLE_COLUMNS:
        return example
    index = example.rfind(" --", 0, _MAX_EXAMPLE_COLUMNS)
    return f"{example[:index]} \\\n    {example[index + 1 :]}"


def pop_job_options(arguments: dict[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Remove the scenario's job options from the arguments and return them: assumed allocations, assumed releases."""
    return arguments.pop("with_", ()), arguments.pop("without", ())


def question_arguments(question: Question, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a question's parameters; a memory size without a unit is in bytes."""
    parsed = {}
    for parameter in question.parameters:
        value = arguments[parameter.name]
        if issubclass(parameter.value_type, Capacity) and value is not None:
            value = int(value) if value.strip().isdecimal() else value
        parsed[parameter.name] = parameter.default if value is None and not parameter.is_required else value
    return parsed


def _build_options(parameter: QuestionParameter, *, is_optional: bool) -> list[click.Parameter]:
    """Return the argument or option of a parameter, or a flag for each choice but the default if it is declared so."""
    argument = parameter.argument
    if argument.positional or (parameter.is_required and not argument.option):
        argument_type = ADDRESS if parameter.value_type is str else None
        metavar = argument.metavar or None
        if is_optional and parameter.name == "scope":
            return [click.Argument([parameter.name], metavar=f"[{metavar}]", required=False, type=argument_type)]
        return [click.Argument([parameter.name], metavar=metavar, required=parameter.is_required, type=argument_type)]
    if argument.option == "":
        return [
            click.Option([_option_flag(word.name), parameter.name], flag_value=word.name.lower(), help=word.description)
            for word in parameter.choices
            if word is not parameter.default
        ]
    flag = argument.option or _option_flag(parameter.name)
    if parameter.value_type is bool:
        return [
            click.Option([flag, parameter.name], is_flag=True, default=parameter.default, help=parameter.description)
        ]
    if parameter.choices:
        choices = click.Choice([word.name.lower().replace("_", "-") for word in parameter.choices])
        default = parameter.default and parameter.default.name.lower().replace("_", "-")
        show_default = default is not None
        return [
            click.Option(
                [flag, parameter.name],
                type=choices,
                default=default,
                show_default=show_default,
                help=parameter.description,
            )
        ]
    is_repeatable = issubclass(parameter.value_type, tuple)
    defaults = {"default": parameter.default} if parameter.value_type is int else {}
    return [
        click.Option(
            [flag, parameter.name],
            type=int if parameter.value_type is int else ADDRESS if parameter.value_type in (str, tuple) else str,
            multiple=is_repeatable,
            required=parameter.is_required,
            show_default=parameter.value_type is int and parameter.default is not None,
            metavar=argument.metavar or None,
            help=f"{parameter.description.removesuffix('.')}; repeatable." if is_repeatable else parameter.description,
            **defaults,
        )
    ]


def _option_flag(name: str) -> str:
    return f"--{name.lower().replace('_', '-')}"
