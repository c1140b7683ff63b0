"""Describe the tools to an agent in few words, because it reads all of them before its first question.

Arguments that many tools share are explained once, in the server's instructions. The lists of things have one tool.
The resource trninv://tool/NAME has the rest: every argument with its limits.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from strawberry.utils.str_converters import to_camel_case

from trninv.agents.tool import AT, PLAN, Tool, all_tools
from trninv.errors import suggestion
from trninv.graphql.thing_listing import LISTED_KINDS

LIST: Final = "list"
"""The tool of all lists that take the same arguments."""
KIND: Final = "kind"
_LIST_ARGUMENTS: Final[Mapping[str, Any]] = {
    "filter": {"type": "object", "description": 'Such as {"state": {"eq": "DOWN"}, "cluster": {"eq": "prod"}}'},
    "orderBy": {"type": "array", "items": {"type": "object"}, "description": 'Such as [{"address": "DESC"}]'},
    "scope": {"type": "string", "description": "A place, for jobs, events and what belongs to servers"},
    "includeEnded": {"type": "boolean"},
    "since": {"type": "string", "description": "Of events"},
    "until": {"type": "string"},
    "subject": {"type": "string", "description": "Of facts and conflicts, such as trainium2"},
    "attribute": {"type": "string", "description": "Such as device_memory"},
    "disputed": {"type": "boolean"},
    "between": {"type": "object", "description": 'Of links: {"a": PLACE, "b": PLACE}'},
    "first": {"type": "integer"},
    "after": {"type": "string"},
    AT: {"type": "string"},
    "page": {"type": "integer"},
}
_OWN_TOOLS: Final = frozenset({"incidents"})
"""Lists that have a tool of their own nevertheless, because agents begin with them."""
LIST_NAMES: Final[Mapping[str, str]] = {word: to_camel_case(thing.list_name) for word, thing in LISTED_KINDS.items()}
"""The tools of lists, by the words of the command line."""
_UNLISTED: Final = frozenset({"viewer", "cluster"})
"""Tools that agents do not need: `resolve` finds clusters too."""
_EXPLAINED: Final = frozenset({AT, PLAN, "down", "why", "who", "first", "after", "filter", "orderBy"})
"""Arguments that the server's instructions or `LIST` explain."""
_OMITTED: Final = frozenset({"page"})
"""The argument that only the instructions name; an answer with more pages says how to get the next."""
_MAX_DESCRIPTION: Final = 85
_MAX_NAME: Final = 60
_MAX_ARGUMENT: Final = 44
_RANGE: Final = re.compile(r": -?[\d,.]+ to -?[\d,.]+\.?$")
_ONLY_LEVELS: Final = re.compile(r"(chip|core|server|rack|domain|cluster|switch|or|[ ,.])+", re.IGNORECASE)
"""A description that only says which places an argument may be; an error says so too."""


def listed_tools(allows: Callable[[str], bool]) -> Iterator[Tool]:
    """Yield the tools that an agent sees beside `LIST`, of the scopes that a caller has."""
    kinds = listed_kinds()
    return (tool for name, tool in all_tools().items() if name not in kinds.keys() | _UNLISTED and allows(tool.scope))


def listed_kinds() -> Mapping[str, Tool]:
    """Return the tools that `LIST` stands for, by their name."""
    return {name: tool for name, tool in all_tools().items() if _is_listed(tool)}


def find_kind(kind: str) -> Tool | None:
    """Return the tool of a kind, by its name or by the word that ``trninv list`` takes, such as job for jobs."""
    name = LIST_NAMES.get(kind, kind)
    return listed_kinds().get(name) or (all_tools().get(name) if name in _OWN_TOOLS else None)


def name_call(tool: Tool) -> str:
    """Return what an agent calls to reach a tool: its name, or the list of that kind."""
    return f"{LIST} with {KIND} {tool.name}" if tool.name in listed_kinds() else tool.name


def suggest_tool(name: str, allows: Callable[[str], bool]) -> str:
    """Return the end of a message about an unknown tool: that of the command, or a listed one of a similar name."""
    tools = [tool for tool in all_tools().values() if allows(tool.scope)]
    of_command = next((tool for tool in tools if tool.command == name), None)
    if of_command is not None:
        return f"use {name_call(of_command)}"
    return suggestion(name[:_MAX_NAME], (LIST, *(tool.name for tool in listed_tools(allows))))


def _is_listed(tool: Tool) -> bool:
    names = tool.input_schema["properties"].keys() - _OMITTED
    return names <= _LIST_ARGUMENTS.keys() and not tool.is_change and tool.name not in _OWN_TOOLS | _UNLISTED


def describe_list(allows: Callable[[str], bool]) -> tuple[str, dict[str, Any]]:
    """Return the description of `LIST` and its arguments, with the kinds that a caller may read."""
    kinds = [name for name, tool in listed_kinds().items() if allows(tool.scope)]
    arguments = {KIND: {"type": "string", "enum": kinds}, **_LIST_ARGUMENTS}
    return (
        "List the things of a kind. The resource trninv://tool/KIND has the arguments and fields of one.",
        {"type": "object", "properties": arguments, "required": [KIND]},
    )


def describe_briefly(tools: Iterable[Tool]) -> Iterator[tuple[Tool, str, dict[str, Any]]]:
    """Yield each tool with a sentence about it, and the schema of its arguments in few words.

    An argument or members that an earlier tool describes alike are not described again.
    """
    described = set[object]()
    for tool in tools:
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        for name, full_schema in tool.input_schema["properties"].items():
            if name in _OMITTED:
                continue
            texts = {text if text.startswith("{") else (name, text): text for text in _texts(name, full_schema)}
            description = ": ".join(text for key, text in texts.items() if key not in described)
            described |= texts.keys()
            schema["properties"][name] = _abridge(full_schema) | ({"description": description} if description else {})
        if required := tool.input_schema["required"]:
            schema["required"] = required
        yield tool, f"{_first_sentence(tool.description, _MAX_DESCRIPTION)}.", schema


def _abridge(schema: Mapping[str, Any]) -> dict[str, Any]:
    brief = {key: schema[key] for key in ("type", "enum", "items") if key in schema}
    if isinstance(brief.get("items"), Mapping):
        brief["items"] = {key: brief["items"][key] for key in ("type", "enum") if key in brief["items"]}
    return brief


def _texts(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an argument is, and the members of an object, if that is not clear."""
    description = "" if name in _EXPLAINED else _first_sentence(schema.get("description", ""), _MAX_ARGUMENT)
    if description and not _ONLY_LEVELS.fullmatch(description):
        yield description
    if "properties" in schema:
        yield f"{{{', '.join(schema['properties'])}}}"


def _first_sentence(text: str, max_length: int) -> str:
    """Return the first sentence without the range of a number; cut it before a clause if it is too long."""
    sentence = " ".join(_RANGE.sub("", text.partition("\n\n")[0].partition(". ")[0].rstrip(".")).split())
    for mark in ("; ", ": ", ", with", ", or", ", in", " ("):
        if len(sentence) > max_length:
            sentence = sentence.partition(mark)[0]
    return sentence
