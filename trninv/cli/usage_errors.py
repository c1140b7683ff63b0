"""Explain a usage error of the command line, with suggestions and examples; called by `main`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

import click

from trninv.cli.command_index import read_declared

_MAX_EXAMPLES: Final = 2
_MIN_SIMILARITY: Final = 0.7
"""The minimum similarity of a word that counts as a misspelled command name (see `difflib.get_close_matches`)."""
_SHORT_WORD_LENGTH: Final = 4
"""Words of this length or shorter are not searched for in descriptions, because they match too many."""
_OTHER_NAMES: Final = {
    "hold": "allocate",
    "close": "cordon",
    "open": "uncordon",
    "fits": "place",
    "drain": "drain-impact",
    "history": "events, timeline or diff",
}
"""Commands by other words for them."""
_MORE_FORMATS: Final = ("csv", "ndjson")
"""Formats that `trninv list` has and most commands lack."""

_RENAMED_OPTIONS: Final = {("bind", "--infer"): "trninv infer-bindings"}
"""Options that became commands of their own, by their former command and name."""


def explain_usage_error(error: click.UsageError, read_descriptions: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    """Yield the lines of an error message with examples and suggestions.

    `read_descriptions` returns the description of each command; it is called only for an unknown top-level command.
    """
    context = error.ctx
    path = context.command_path if context else "trninv"
    yield f"{path}: {_describe_error(error, read_descriptions)}"
    for example in read_examples(context.command)[:_MAX_EXAMPLES] if context and context.parent else ():
        yield f"  {example}"
    yield f"for help, run {path} --help"


def read_examples(command: click.Command) -> list[str]:
    """Return the example command lines in a command's help."""
    _, _, example_text = (command.help or "").partition("\b")
    return [line.strip() for line in re.sub(r"\\\n\s*", "", example_text).split("\n") if line.strip()]


def _describe_error(error: click.UsageError, read_descriptions: Callable[[], Mapping[str, str]]) -> str:
    match error:
        case click.MissingParameter(param=click.Parameter() as parameter):
            return f"{_parameter_name(parameter)} is missing{_suggest_values(parameter)}"
        case click.NoSuchOption(option_name=name):
            return f"there is no option {name}: {_suggest_options(name, error.ctx)}"
        case click.exceptions.NoSuchCommand(command_name=name) if _is_top_level(error) and (command := _find(name)):
            return f"there is no command {name}: did you mean {command}?"
        case click.exceptions.NoSuchCommand(command_name=name):
            return (
                "there is no command "
                f"{name}{_suggest_commands(name, read_descriptions() if _is_top_level(error) else _subcommands(error))}"
            )
        case click.BadParameter(param=click.Parameter() as parameter):
            hint = _suggest_list(error) if parameter.name == "style" else ""
            return f"{_parameter_name(parameter)}: {error.message.removesuffix('.')}{hint}"
        case _:
            return error.format_message()


def _find(name: str) -> str | None:
    """Return the command that another word stands for, such as its name in GraphQL or Python."""
    word = re.sub("(?<=[a-z])(?=[A-Z])|_", "-", name).lower()
    declared = {file.stem.replace("_", "-"): command for command, file, _ in read_declared()}
    return _OTHER_NAMES.get(word) or declared.get(word)


def _parameter_name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return parameter.opts[-1]
    return (
        (parameter.name or "").upper()
        if isinstance(parameter.type, click.Choice)
        else parameter.metavar or (parameter.name or "").upper()
    )


def _suggest_values(parameter: click.Parameter) -> str:
    if isinstance(parameter.type, click.Choice):
        return f": one of {', '.join(parameter.type.choices)}"
    return f": {parameter.help.partition('.')[0]}" if isinstance(parameter, click.Option) and parameter.help else ""


def _suggest_list(error: click.BadParameter) -> str:
    """Return which command writes a format, if the command's rows are also a kind of `trninv list`."""
    from trninv.graphql.thing_listing import LISTED_KINDS  # noqa: PLC0415 # needed only for this error

    kind = ((error.ctx and error.ctx.info_name) or "").removesuffix("s")
    style = next((name for name in _MORE_FORMATS if error.message.startswith(repr(name))), None)
    return f"; trninv list {kind} --format {style} writes it" if style and kind in LISTED_KINDS else ""


def _suggest_options(flag: str, context: click.Context | None) -> str:
    if replacement := _RENAMED_OPTIONS.get(((context and context.info_name) or "", flag)):
        return f"it is now called {replacement}"
    flags = [
        name
        for parameter in (context.command.params if context else ())
        if not getattr(parameter, "hidden", False)
        for name in parameter.opts
        if name.startswith("--")
    ]
    matches = get_close_matches(flag.strip("-"), [name.strip("-") for name in flags])
    return (
        f"did you mean {_join_or(f'--{name}' for name in matches)}?"
        if matches
        else f"the options are {', '.join([*flags, '--help'])}"
    )


def _is_top_level(error: click.UsageError) -> bool:
    return error.ctx is not None and error.ctx.parent is None


def _subcommands(error: click.UsageError) -> Mapping[str, str]:
    return dict.fromkeys(getattr(error.ctx and error.ctx.command, "commands", ()), "")


def _suggest_commands(word: str, descriptions: Mapping[str, str]) -> str:
    """Return a suggestion of commands with a similar name, or else of those whose description contains the word."""
    if matches := get_close_matches(word, descriptions, cutoff=_MIN_SIMILARITY):
        return f": did you mean {_join_or(matches)}?"
    mentions = [
        name for name, text in descriptions.items() if len(word) > _SHORT_WORD_LENGTH and word.lower() in text.lower()
    ]
    return f": see {_join_or(f'trninv {name} --help' for name in mentions[:3])}" if mentions else ""


def _join_or(names: Iterable[str]) -> str:
    return " or ".join(names)
