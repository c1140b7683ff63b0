"""A command for each question, made from its declaration."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from trninv.cli.output import encode, format_option, servers_in, show, tell, tell_state
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.supposing import asking, supposing
from trninv.inventory.alone import only_cluster
from trninv.jobs import questions as of_jobs
from trninv.routing import questions as of_routing
from trninv.routing.fleet import Fleet
from trninv.routing.question import Parameter, Question
from trninv.routing.servers import servers_of
from trninv.units import Capacity

_WIDE = 76
"""Columns of an example on a help page, which sets it in by two."""


def command_of(file: str) -> click.Command:
    """The command that asks the question of a file, of the fleet as it is or as it would be."""
    question = (of_jobs if file in of_jobs.NAMES else of_routing).find(file)

    @click.pass_obj
    def run(
        database: str, /, down: tuple[str, ...], derate: tuple[str, ...], at: str | None, style: str, **given: Any
    ) -> None:
        with asking(database, down, derate, at, *jobs_in(given)) as fleet, fleet.in_one_state() as one:
            with Progress(question.command):
                answer = one.ask(question, **values(question, given))
            standing = one.standing(servers_in(answer) if style == "table" else servers_of(answer))
            tell_state(one.as_of())
        value = encode(answer) | {"standing": standing} if style == "json" and standing else answer
        names = {each.server: " ".join(filter(None, (each.host, each.instance))) for each in standing}
        show(style, value, lambda: tell(answer, standing=names))
        if not answer.succeeded():
            raise click.exceptions.Exit(1)

    return made(question, run)


def alone(fleet: Fleet, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was written; of the one cluster where no place is."""
    if given["of"] is not None:
        return dict(given)
    with fleet.reading() as connection:
        return {**given, "of": only_cluster(connection)}


def made(
    question: Question, run: Callable[..., None], *more: click.Parameter, needs_place: bool = True
) -> click.Command:
    """A command that takes what a question asks, and more; the one cluster is meant where it needs no place."""
    examples = "".join(f"{_folded(f'trninv {example}')}\n" for example in question.examples)
    found = click.Command(
        question.command,
        params=[
            *(option for each in question.parameters for option in _options(each, may_lack=not needs_place)),
            *more,
        ],
        callback=run,
        help=f"{question.says}\n\n\b\n{examples}",
    )
    return supposing(format_option(found), jobs=question.name in of_jobs.NAMES)


def _folded(example: str) -> str:
    """An example as the shell takes it on lines of a help page."""
    if len(example) <= _WIDE:
        return example
    at = example.rfind(" --", 0, _WIDE)
    return f"{example[:at]} \\\n    {example[at + 1 :]}"


def jobs_in(given: dict[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Jobs that are supposed to hold places, and to have ended, taken out of what was written."""
    return given.pop("with_", ()), given.pop("without", ())


def values(question: Question, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was written, as the question takes it; memory may be a number of bytes alone."""
    found = {}
    for each in question.parameters:
        value = given[each.name]
        if issubclass(each.form, Capacity) and value is not None:
            value = int(value) if value.strip().isdecimal() else value
        found[each.name] = each.default if value is None and not each.required else value
    return found


def _options(of: Parameter, *, may_lack: bool) -> list[click.Parameter]:
    """The argument or option of a parameter; a switch for each word but the default, of words that are switches."""
    argument = of.argument
    if argument.positional or (of.required and not argument.option):
        taken = PLACE if of.form is str else None
        metavar = argument.metavar or None
        if may_lack and of.name == "of":
            return [click.Argument([of.name], metavar=f"[{metavar}]", required=False, type=taken)]
        return [click.Argument([of.name], metavar=metavar, required=of.required, type=taken)]
    if argument.option == "":
        return [
            click.Option([_dashed(word.name), of.name], flag_value=word.name.lower(), help=word.says)
            for word in of.words
            if word is not of.default
        ]
    written = argument.option or _dashed(of.name)
    if of.form is bool:
        return [click.Option([written, of.name], is_flag=True, default=of.default, help=of.says)]
    if of.words:
        choices = click.Choice([word.name.lower().replace("_", "-") for word in of.words])
        default = of.default and of.default.name.lower().replace("_", "-")
        shown = default is not None
        return [click.Option([written, of.name], type=choices, default=default, show_default=shown, help=of.says)]
    many = issubclass(of.form, tuple)
    given = {"default": of.default} if of.form is int else {}
    return [
        click.Option(
            [written, of.name],
            type=int if of.form is int else PLACE if of.form in (str, tuple) else str,
            multiple=many,
            required=of.required,
            show_default=of.form is int and of.default is not None,
            metavar=argument.metavar or None,
            help=f"{of.says.removesuffix('.')}; repeatable." if many else of.says,
            **given,
        )
    ]


def _dashed(name: str) -> str:
    return f"--{name.lower().replace('_', '-')}"
