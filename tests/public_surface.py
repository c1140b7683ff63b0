"""The public surface of a release: the names that other people's programs use, and how two releases differ in them.

docs/reference/compatibility.md lists the areas. ``python tests/public_surface.py`` prints the surface of this checkout.
"""

import inspect
import json
import re
import sqlite3
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin

import click
from every_command import EVERY
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLObjectType,
    build_schema,
    find_breaking_changes,
    lexicographic_sort_schema,
    print_schema,
)

import trninv
from examples import ROOT
from trninv.database import migration
from trninv.database.engine import temporary_engine
from trninv.errors import TrninvError
from trninv.placement import questions as placement_questions
from trninv.placement.placement_fleet import Fleet
from trninv.routing import questions as routing_questions
from trninv.routing.answer import answer_fields, strip_annotations

Surface = dict[str, dict[str, str]]
"""Definitions by area and name. A definition that changes breaks its users, and so does what is new and required."""
REQUIRED = "required"
RELEASES = ROOT / "tests/golden/releases"
"""The surface of each release, X.Y.Z.json, as ``./run release`` writes it."""


@dataclass(frozen=True)
class Difference:
    """A name that was added, or that was removed or changed, which breaks its users."""

    area: str
    name: str
    what: str
    breaks: bool


def current_surface() -> Surface:
    """Return the surface of this checkout; it migrates a database, which takes seconds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    areas = {
        "graphql": _graphql(),
        "sql": _sql(),
        "cli": _cli(),
        "json": _answers(),
        "python": _python(),
        "http": _http(),
        "metrics": _metrics(),
        "errors": {kind.code: f"exit status {kind.exit_status}" for kind in _kinds(TrninvError)},
        "settings": dict.fromkeys(_settings(), ""),
        "extras": dict.fromkeys(project["optional-dependencies"], ""),
    }
    return {area: dict(sorted(names.items())) for area, names in areas.items()}


def differences(before: Surface, after: Surface) -> Iterator[Difference]:
    """Yield what was removed, changed or added between two surfaces."""
    for area, names in before.items():
        now = after.get(area, {})
        if area == "graphql":
            yield from _graphql_differences(names[_SDL], now[_SDL])
            continue
        for name, definition in names.items():
            if name not in now:
                yield Difference(area, name, "removed", breaks=True)
            elif now[name] != definition:
                yield Difference(area, name, f"{definition or 'nothing'} is now {now[name] or 'nothing'}", breaks=True)
        for name in sorted(now.keys() - names.keys()):
            yield Difference(area, name, "added", breaks=now[name].startswith(REQUIRED))


def unmentioned(found: Iterable[Difference], changelog: str) -> Iterator[Difference]:
    """Yield the differences that a section of the changelog does not name.

    An entry that starts with **Breaking** must name what breaks in full; of what was added, the last part of its name
    is enough.
    """
    entries = re.split(r"\n(?=- )", changelog)
    breaking = " ".join(entry for entry in entries if re.match(r"- \**Breaking", entry))
    for difference in found:
        name = difference.name if difference.breaks else re.findall(r"[\w-]+", difference.name)[-1]
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", breaking if difference.breaks else changelog):
            yield difference


_SDL = "schema"


def _graphql() -> dict[str, str]:
    schema = build_schema((ROOT / "schema.graphql").read_text())
    for kind in schema.type_map.values():
        kind.description = None
        members = [*getattr(kind, "fields", {}).values(), *getattr(kind, "values", {}).values()]
        for member in members:
            member.description = None
            for argument in getattr(member, "args", {}).values():
                argument.description = None
    return {_SDL: print_schema(lexicographic_sort_schema(schema))}


def _graphql_differences(before: str, after: str) -> Iterator[Difference]:
    old, new = build_schema(before), build_schema(after)
    for change in find_breaking_changes(old, new):
        words = change.description.removeprefix("Type ")
        coordinate = re.search(r"\w+\.\w+", words) or re.match(r"\w+", words)
        assert coordinate, words
        yield Difference("graphql", coordinate[0], change.description, breaks=True)
    added = _coordinates(after) - _coordinates(before)
    yield from (Difference("graphql", name, "added", breaks=False) for name in added)


def _coordinates(sdl: str) -> set[str]:
    kinds = build_schema(sdl).type_map
    return {
        f"{kind.name}.{member}"
        for kind in kinds.values()
        if isinstance(kind, GraphQLObjectType | GraphQLInputObjectType | GraphQLEnumType)
        for member in (kind.values if isinstance(kind, GraphQLEnumType) else kind.fields)
    }


def _sql() -> dict[str, str]:
    """Columns of the views, which are the same on PostgreSQL."""
    with tempfile.TemporaryDirectory() as place:
        with temporary_engine(f"sqlite:///{place}/fleet.db") as engine:
            migration.migrate(engine)
        with closing(sqlite3.connect(f"{place}/fleet.db")) as connection:
            rows = connection.execute(
                "SELECT view.name, field.name FROM sqlite_master AS view, pragma_table_info(view.name) AS field "
                "WHERE view.type = 'view'"
            ).fetchall()
    return {f"{view}.{column}": "" for view, column in rows}


def _cli() -> dict[str, str]:
    """Commands, their arguments and options, and the values of an option that takes one of a few."""
    names = {}
    for words, command in EVERY.items():
        path = " ".join(("trninv", *words))
        names[path] = ""
        for parameter in command.params:
            is_option = isinstance(parameter, click.Option)
            spelled = (*parameter.opts, *parameter.secondary_opts) if is_option else (str(parameter.name).upper(),)
            choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
            takes = "flag" if getattr(parameter, "is_flag", False) else parameter.type.name
            for name in spelled:
                names[f"{path} {name}"] = REQUIRED if parameter.required else takes
                names |= {f"{path} {name} {choice}": "" for choice in choices}
    return names


def _answers() -> dict[str, str]:
    """Keys of the answers that questions print as JSON, and the fields of the same classes in Python."""
    names: dict[str, str] = {}
    questions = (*routing_questions.all_questions(), *placement_questions.all_questions())
    kinds: list[Any] = [question.answer_type for question in questions]
    while kinds:
        kind = kinds.pop()
        for field in answer_fields(kind):
            name = f"{kind.__name__}.{re.sub(r'_(.)', lambda match: match[1].upper(), field.name)}"
            if name not in names:
                names[name] = _type_name(field.type_hint)
                kinds += [part for part in _parts(field.type_hint) if is_dataclass(part)]
    return names


def _parts(hint: Any) -> Iterator[Any]:
    """Yield the classes in a type."""
    if isinstance(hint, type):
        yield hint
    for argument in get_args(hint):
        yield from _parts(argument)


def _type_name(hint: Any) -> str:
    """Return a type without annotations, as it is written in Python."""
    hint, _ = strip_annotations(hint)
    names = [_type_name(argument) for argument in get_args(hint)]
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(names)
    name = getattr(get_origin(hint) or hint, "__name__", str(hint))
    return f"{name}[{', '.join(names)}]" if names else name


def _python() -> dict[str, str]:
    names = {f"trninv.{name}": "" for name in trninv.__all__}
    for method, function in inspect.getmembers(Fleet, callable):
        if not method.startswith("_"):
            names[f"fleet.{method}"] = ""
            for parameter in inspect.signature(function).parameters.values():
                is_required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
                names[f"fleet.{method}({parameter.name})"] = REQUIRED if is_required else "optional"
    return names


def _http() -> dict[str, str]:
    """Routes, their parameters and the statuses that they answer with."""
    names = dict[str, str]()
    for path, methods in json.loads((ROOT / "docs/reference/openapi.json").read_text())["paths"].items():
        for method, operation in methods.items():
            route = f"{method.upper()} {path}"
            names |= {route: "", **{f"{route} {status}": "" for status in operation["responses"]}}
            for parameter in operation.get("parameters", ()):
                names[f"{route} {parameter['name']}"] = REQUIRED if parameter.get("required") else "optional"
    return names


def _metrics() -> dict[str, str]:
    """Metrics of their page, which another test compares with the service."""
    page = (ROOT / "docs/reference/metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", page, re.MULTILINE)
    return {name: f"{kind} {' '.join(re.findall('`(.+?)`', labels))}".strip() for name, kind, labels in rows}


def _kinds(kind: type[TrninvError]) -> Iterator[type[TrninvError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def _settings() -> Iterator[str]:
    yield from re.findall(r"^\| `(TRNINV_\w+)`", (ROOT / "docs/reference/settings.md").read_text(), re.MULTILINE)


if __name__ == "__main__":
    json.dump(current_surface(), sys.stdout, indent=1)
