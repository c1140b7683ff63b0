"""Word errors for an agent: the fleet's messages name commands and their options, an agent has tools and arguments."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from trninv.agents.tool import Tool, all_tools
from trninv.agents.tool_list import LIST_NAMES, listed_kinds, name_call
from trninv.graphql.compiler.selections import field_metadata
from trninv.graphql.question_fields import graphql_name

_OPTION: Final = re.compile(r"--[a-z][a-z-]*[a-z]\b")
_METAVAR: Final = re.compile(r"(?<!\w)'[^']*'|(?<![\w/.-])[A-Z_]+(?![\w/.-])")
"""A word in capitals, or a quotation, whose words are the caller's."""
_CAPITAL: Final = re.compile(r"[A-Z]")


def in_words_of_tools(message: str, tool: Tool | None) -> str:
    """Return a message with tools for commands, and with the arguments of the called tool for options."""
    if tool is not None:
        names = _argument_by_option(tool)
        message = _OPTION.sub(lambda match: names.get(match[0], match[0]), message)
        metavars = _argument_by_metavar(tool)
        message = _METAVAR.sub(lambda match: metavars.get(match[0], match[0]), message)
    calls = _call_by_command()
    return _command_pattern().sub(lambda match: calls[match[1]], message)


def _argument_by_option(tool: Tool) -> Mapping[str, str]:
    options = {f"--{_CAPITAL.sub(_hyphenate, name)}": name for name in tool.input_schema["properties"]}
    question = field_metadata(tool.field).get("question")
    parameters = question.parameters if question else ()
    return options | {item.argument.option: graphql_name(item) for item in parameters if item.argument.option}


def _argument_by_metavar(tool: Tool) -> Mapping[str, str]:
    """Return the arguments that the command takes by their place, by the capitals that stand for them."""
    question = field_metadata(tool.field).get("question")
    parameters = question.parameters if question else ()
    return {
        item.name.upper(): graphql_name(item)
        for item in parameters
        if item.argument.positional or (item.is_required and item.argument.option is None)
    }


def _hyphenate(capital: re.Match[str]) -> str:
    return f"-{capital[0].lower()}"


@cache
def _call_by_command() -> Mapping[str, str]:
    """Return what to call in place of each command, longer commands first."""
    kinds = listed_kinds()
    calls = {f"list {word}": name_call(kinds[name]) for word, name in LIST_NAMES.items() if name in kinds}
    for tool in all_tools().values():
        calls.setdefault(tool.command, name_call(tool))
    return dict(sorted(calls.items(), key=lambda item: -len(item[0])))


@cache
def _command_pattern() -> re.Pattern[str]:
    return re.compile(rf"\btrninv ({'|'.join(map(re.escape, _call_by_command()))})(?![\w-])")
