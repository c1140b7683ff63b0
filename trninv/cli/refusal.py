"""What is said of a command that is wrongly written: what is wrong, examples that are right, where there is more."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

import click

_EXAMPLES: Final = 2
_LIKE: Final = 0.7
"""How like a command's name a word has to be to be taken for it."""
_SHORT: Final = 4
"""Letters of a word that too much speaks of."""


def refusal(error: click.UsageError, says: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    """Lines for a person; `says` gives what each command does, for one that there is not."""
    context = error.ctx
    path = context.command_path if context else "trninv"
    yield f"{path}: {_wrong(error, says)}"
    for example in examples(context.command)[:_EXAMPLES] if context and context.parent else ():
        yield f"  {example}"
    yield f"{path} --help says more"


def examples(command: click.Command) -> list[str]:
    """The command lines that a command's help shows."""
    _, _, shown = (command.help or "").partition("\b")
    return [line.strip() for line in re.sub(r"\\\n\s*", "", shown).split("\n") if line.strip()]


def _wrong(error: click.UsageError, says: Callable[[], Mapping[str, str]]) -> str:
    match error:
        case click.MissingParameter(param=click.Parameter() as of):
            return f"{_named(of)} is missing{_meant(of)}"
        case click.NoSuchOption(option_name=name):
            return f"there is no option {name}: {_options(name, error.ctx)}"
        case click.exceptions.NoSuchCommand(command_name=name):
            return f"there is no command {name}{_commands(name, says() if _is_first(error) else _below(error))}"
        case click.BadParameter(param=click.Parameter() as of):
            return f"{_named(of)}: {error.message.removesuffix('.')}"
        case _:
            return error.format_message()


def _named(of: click.Parameter) -> str:
    if isinstance(of, click.Option):
        return of.opts[-1]
    return (of.name or "").upper() if isinstance(of.type, click.Choice) else of.metavar or (of.name or "").upper()


def _meant(of: click.Parameter) -> str:
    if isinstance(of.type, click.Choice):
        return f": one of {', '.join(of.type.choices)}"
    return f": {of.help.partition('.')[0]}" if isinstance(of, click.Option) and of.help else ""


def _options(written: str, context: click.Context | None) -> str:
    known = [name for of in (context.command.params if context else ()) for name in of.opts if name.startswith("--")]
    near = get_close_matches(written.strip("-"), [name.strip("-") for name in known])
    return (
        f"did you mean {_or(f'--{name}' for name in near)}?" if near else f"there are {', '.join([*known, '--help'])}"
    )


def _is_first(error: click.UsageError) -> bool:
    return error.ctx is not None and error.ctx.parent is None


def _below(error: click.UsageError) -> Mapping[str, str]:
    return dict.fromkeys(getattr(error.ctx and error.ctx.command, "commands", ()), "")


def _commands(written: str, says: Mapping[str, str]) -> str:
    """Those of a name like it, else those whose help has the word."""
    if near := get_close_matches(written, says, cutoff=_LIKE):
        return f": did you mean {_or(near)}?"
    speak = [name for name, text in says.items() if len(written) > _SHORT and written.lower() in text.lower()]
    return f": it is a word of {_or(f'trninv {name} --help' for name in speak[:3])}" if speak else ""


def _or(names: Iterable[str]) -> str:
    return " or ".join(names)
