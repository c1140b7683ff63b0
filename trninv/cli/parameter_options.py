"""Build click's arguments, options and help from the declarations of questions and changes."""

from collections.abc import Iterable
from typing import Any

import click

from trninv.cli.shell_completion import ADDRESS
from trninv.inventory.parameter import FreeText, Parameter

_MAX_EXAMPLE_COLUMNS = 76
"""The maximum width of an example on a help page, which indents it by two columns."""


def help_text(description: str, examples: Iterable[str]) -> str:
    """Return a command's help: its description and its examples."""
    lines = "".join(f"{_wrap_example(f'trninv {example}')}\n" for example in examples)
    return f"{description}\n\n\b\n{lines}"


def _wrap_example(example: str) -> str:
    """Return an example, with a backslash and a line break, preferably before an option, if it is too long for help."""
    unquoted_blanks = [
        index
        for index, character in enumerate(example[: _MAX_EXAMPLE_COLUMNS - 1])
        if character == " " and example.count('"', 0, index) % 2 == 0
    ]
    if len(example) <= _MAX_EXAMPLE_COLUMNS or not unquoted_blanks:
        return example
    index = max([index for index in unquoted_blanks if example.startswith(" --", index)] or unquoted_blanks)
    return f"{example[:index]} \\\n    {example[index + 1 :]}"


def build_options(parameter: Parameter, *, is_optional: bool = False) -> list[click.Parameter]:
    """Return a parameter's argument or option; if its declared option is "", a flag for each choice but the default.

    With `is_optional`, the argument SCOPE may be omitted.
    """
    argument = parameter.argument
    if argument.positional or (parameter.is_required and not argument.option):
        argument_type = _option_type(parameter) if parameter.value_type in (str, tuple) or argument.words else None
        metavar = argument.metavar or None
        if is_optional and parameter.name == "scope":
            return [click.Argument([parameter.name], metavar=f"[{metavar}]", required=False, type=argument_type)]
        count = -1 if parameter.value_type is tuple else 1
        return [
            click.Argument(
                [parameter.name], metavar=metavar, required=parameter.is_required, type=argument_type, nargs=count
            )
        ]
    if argument.option == "":
        return [
            click.Option(
                [_option_flag(choice.name), parameter.name], flag_value=choice.name.lower(), help=choice.description
            )
            for choice in parameter.choices
            if choice is not parameter.default
        ]
    flag = argument.option or _option_flag(parameter.name)
    if parameter.value_type is bool:
        return [
            click.Option([flag, parameter.name], is_flag=True, default=parameter.default, help=parameter.description)
        ]
    if parameter.choices:
        choices = click.Choice([choice.name.lower().replace("_", "-") for choice in parameter.choices])
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
    has_default = not (parameter.is_required or parameter.default is None)
    has_default = has_default and parameter.value_type in (int, float, FreeText)
    defaults = {"default": parameter.default} if has_default else {}
    return [
        click.Option(
            [flag, parameter.name],
            type=_option_type(parameter),
            multiple=is_repeatable,
            required=parameter.is_required,
            show_default=has_default,
            metavar=argument.metavar or None,
            help=f"{parameter.description.removesuffix('.')}; repeatable." if is_repeatable else parameter.description,
            **defaults,
        )
    ]


def _option_type(parameter: Parameter) -> Any:  # a type of click or of Python
    """Return the type of an argument or option; ADDRESS completes addresses, but accepts any text."""
    if parameter.argument.words:
        return click.Choice(list(parameter.argument.words))
    if parameter.item_type is int:
        return int
    if parameter.value_type in (str, tuple):
        return ADDRESS
    return parameter.value_type if parameter.value_type in (int, float) else str


def _option_flag(name: str) -> str:
    return f"--{name.lower().replace('_', '-')}"
