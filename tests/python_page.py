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
from trninv.enumeration import DescribedEnum
from trninv.placement import changes
from trninv.placement import questions as placement_questions
from trninv.placement.placement_fleet import Fleet
from trninv.routing import questions as routing_questions

PAGE = Path(__file__).parents[1] / "docs/reference/python.md"
_INTRODUCTION = """# Python

Written by `python tests/python_page.py` from docstrings; edit those, not this page.

`trninv.open(url)` opens a database, or the default one without an argument. Close it, or use it as a context manager.
`trninv.connect(url)` returns a fleet of a [service](../how-to/ask-a-service.md) with the same methods.
Answers are frozen dataclasses whose fields have the names of the [GraphQL types](../../schema.graphql) in snake case.
Errors are the classes of `trninv.errors` ([Errors](errors.md)).

A notebook shows an answer as a table, and paths, cuts, free chips and placements with their drawing; a prompt shows one
to three lines. `fleet.draw("u-trn2x64")` draws a domain, a rack or a cluster. `answer.to_dict()` returns plain values,
and `answer.to_arrow("paths")`, `to_pandas` and `to_polars` return a list of the answer as a table; without a name, its
only list. Lists such as `fleet.jobs()` have the same methods. Names of quantities end with their unit:
`bandwidth_bytes_per_s`, `memory_bytes`, `time_ns`. `fleet.sql("SELECT …")` returns a table of Arrow, and
`fleet.graph(scope)` a networkx graph with the bandwidth of each link. `fleet.check_against(graph)` compares a graph of
yours with the inventory. [Notebooks](../README.md) show all of this. Install what you use:
pandas, polars or, for Arrow, the [extra](../how-to/deploy.md#extras) parquet.
"""
_EXAMPLE = re.compile(r"```python\n.*?```\n", re.DOTALL)


def render() -> str:
    """Return the page; its example is kept, because a test runs it and writes what it prints."""
    example = _EXAMPLE.search(PAGE.read_text())
    methods = {f"fleet.{name}": getattr(Fleet, name) for name in dir(Fleet) if not name.startswith("_")}
    questions = *routing_questions.all_questions(), *placement_questions.all_questions()
    # move_jobs takes a plan in Python only, so this page describes it
    names = {f"fleet.{each.name}" for each in (*questions, *changes.all_changes())} - {"fleet.move_jobs"}
    declared = sorted(names & methods.keys())
    others = {name: method for name, method in methods.items() if name not in declared}
    openers = {f"trninv.{name}": getattr(trninv, name) for name in ("open", "connect", "connect_async")}
    assert example
    body = "\n".join(
        (
            *_section("Open a database, or ask a service", openers),
            "## Questions and changes\n\n[Questions](questions.md) and [Changes](changes.md) describe these methods:\n",
            *(f"- `{name}{_signature(methods[name])}`" for name in declared),
            "",
            *_section("Lists and snapshots", others),
            *_section("Quantities", {f"units.{name}": getattr(units, name) for name in units.__all__}),
        )
    )
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
    if isinstance(parameter.default, DescribedEnum):
        return f"{parameter.name}={parameter.default.name.lower()!r}"
    if isinstance(parameter.default, units.Quantity):
        return f"{parameter.name}={int(parameter.default)}"
    return f"{parameter.name}=…" if callable(parameter.default) else f"{parameter.name}={parameter.default!r}"


def _summary(member: Any) -> str:
    """Return a docstring without its sections, on one line a paragraph."""
    text, _, _ = (inspect.getdoc(member) or "").partition("\n\nParameters\n")
    text, _, _ = text.partition("\n\nRaises\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).replace("``", "`")


if __name__ == "__main__":
    print(render(), end="")  # noqa: T201 # a page for a file
