"""Write docs/reference/python.md from the docstrings of what is public.

python tests/python_page.py > docs/reference/python.md
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trninv
from trninv import units
from trninv.placement import questions as placement_questions
from trninv.placement.placement_fleet import Fleet
from trninv.routing import questions as routing_questions
from trninv.routing.fleet import BaseFleet

PAGE = Path(__file__).parents[1] / "docs/reference/python.md"
_INTRODUCTION = """# Python

Written by `python tests/python_page.py` from docstrings; edit those, not this page.

`trninv.open(url)` opens a database, or the default one without an argument. Close it, or use it as a context manager.
Answers are frozen dataclasses whose fields have the names of the [GraphQL types](../../schema.graphql) in snake case;
[Questions](questions.md) lists their parameters and fields. Errors are the classes of `trninv.errors`
([Errors](errors.md)).
"""
_EXAMPLE = re.compile(r"```python\n.*?```\n", re.DOTALL)


def render() -> str:
    """Return the page; its example is kept, because a test runs it and writes what it prints."""
    example = _EXAMPLE.search(PAGE.read_text())
    questions = {
        question.name for question in (*routing_questions.all_questions(), *placement_questions.all_questions())
    }
    methods = {name: value for name, value in (vars(BaseFleet) | vars(Fleet)).items() if not name.startswith("_")}
    sections = {
        "Open a database": {"trninv.open": trninv.open},
        "Questions": {f"fleet.{name}": value for name, value in methods.items() if name in questions},
        "Lists, changes and snapshots": {
            f"fleet.{name}": value for name, value in methods.items() if name not in questions
        },
        "Quantities": {f"units.{name}": getattr(units, name) for name in units.__all__},
    }
    assert example
    body = "\n".join(line for title, members in sections.items() for line in _section(title, members))
    return f"{_INTRODUCTION}\n{example[0]}\n{body}"


def _section(title: str, members: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    for name, member in members.items():
        yield f"### `{name}{_signature(member)}`\n"
        yield f"{_summary(member)}\n"


def _signature(member: Any) -> str:
    if isinstance(member, property | type):
        return ""
    parameters = inspect.signature(member).parameters.values()
    shown = [_parameter(parameter) for parameter in parameters if parameter.name != "self"]
    return f"({', '.join(shown)})"


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    return f"{parameter.name}=…" if callable(parameter.default) else f"{parameter.name}={parameter.default!r}"


def _summary(member: Any) -> str:
    """Return a docstring without its sections, on one line a paragraph."""
    text, _, _ = (inspect.getdoc(member) or "").partition("\n\nParameters\n")
    text, _, _ = text.partition("\n\nRaises\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).replace("``", "`")


if __name__ == "__main__":
    print(render(), end="")  # noqa: T201 # a page for a file
