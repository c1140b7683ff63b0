"""Write docs/reference/things.md from the declarations of the things that can be listed.

python tests/things_page.py > docs/reference/things.md
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from strawberry.utils.str_converters import to_camel_case

from trninv.graphql.thing_listing import LISTED_KINDS, filter_fields, signs_of, sort_names
from trninv.inventory.schema.thing import Field, Thing, ValueFormat

PAGE = Path(__file__).parents[1] / "docs/reference/things.md"
_INTRODUCTION = """# Things

Written by `python tests/things_page.py` from `trninv/inventory/schema`; edit that, not this page.

`trninv list KIND [PLACE]` lists the things of a kind. GraphQL has the same fields, in camel case, and lists them in the
same order: by `--sort` or `orderBy`, and finally by id. The [glossary](../explanation/glossary.md) explains the terms.

A filter (`--where`) has one or more conditions, and all must hold: `--where 'state=down memory>24GiB'`. The column
*filter* names the operators that a field allows; fields without any can't be filtered by:

| filter | operators |
| --- | --- |
| equal | `=` `!=` |
| match | `=`, `!=`, and `~`: the value contains this text |
| compare | `=` `!=` `<` `<=` `>` `>=` |
| any | all of these |

Quote a value with spaces: `why~"no carrier"`. `instance=""` selects things without a value and `instance!=""` those
with one. Otherwise, a thing without a value meets only conditions with `!=`. `~` ignores upper and lower case, and so
do addresses and the values of enumerations.

Tables show quantities with their unit. The other formats show bytes, or bytes per second in one direction.

Fields that several kinds have:
"""
_FREQUENT = 5
"""Number of kinds from which on a field that they share is described once."""
_HEADER = "| field | values | filter | sort | meaning |", "| --- | --- | --- | --- | --- |"
_OPERATORS = {
    ("=", "!="): "equal",
    ("=", "!=", "~"): "match",
    ("=", "!=", "<", "<=", ">", ">="): "compare",
    ("=", "!=", "<", "<=", ">", ">=", "~"): "any",
}
_FORMATS = {
    ValueFormat.ID: "id",
    ValueFormat.ADDRESS: "address",
    ValueFormat.IDENTIFIER: "text",
    ValueFormat.TEXT: "text",
    ValueFormat.PLACE: "address",
    ValueFormat.TIME: "time",
    ValueFormat.KEY: "number",
    ValueFormat.INTS: "numbers",
    ValueFormat.INT: "number",
    ValueFormat.BIGINT: "number",
    ValueFormat.MILLIONTHS: "fraction",
    ValueFormat.THOUSANDTHS: "fraction",
    ValueFormat.BOOLEAN: "true, false",
    ValueFormat.CAPACITY: "memory size",
    ValueFormat.BANDWIDTH: "bandwidth",
}


def render() -> str:
    """Return the page."""
    counts = Counter(_line(kind, field) for kind in LISTED_KINDS.values() for field in kind.fields)
    frequent = [line for line, count in counts.items() if count >= _FREQUENT]
    sections = (line for name, kind in LISTED_KINDS.items() for line in _section(name, kind, frequent))
    return "\n".join([_INTRODUCTION, *_HEADER, *frequent, "", *sections])


def _section(name: str, kind: Thing, frequent: Sequence[str]) -> Iterator[str]:
    levels = [name for name, field in filter_fields(kind).items() if field is None]
    yield f"## {name}\n"
    yield f"{kind.description} In GraphQL: `{to_camel_case(kind.list_name)}`, of type `{kind.type}`.\n"
    if levels:
        yield f"Filter by place with {', '.join(f'`{level}`' for level in levels)} (equal).\n"
    lines = {field.name: _line(kind, field) for field in kind.fields}
    if above := [f"`{name}`" for name, line in lines.items() if line in frequent]:
        yield f"Fields as above: {', '.join(above)}.\n"
    if own := [line for line in lines.values() if line not in frequent]:
        yield from (*_HEADER, *own, "")
    if kind.default_order:
        yield f"Sorted by `{'`, `'.join(kind.default_order)}` unless you ask for another order.\n"
    if kind.sort_keys:
        names = ", ".join(f"`{key.name}` ({key.description.removesuffix('.')})" for key in kind.sort_keys)
        yield f"Further keys to sort by: {names}.\n"
    if kind.lifetime:
        yield f"`--all`, or `{to_camel_case(kind.lifetime.argument)}`: {kind.lifetime.description}\n"


def _line(kind: Thing, field: Field) -> str:
    operators = _OPERATORS[tuple(signs_of(field))] if field.name in filter_fields(kind) else ""
    values = ", ".join(field.enumeration.meanings()) if field.enumeration else _FORMATS[field.format]
    sort = "yes" if field.name in sort_names(kind) else ""
    return f"| `{field.name}` | {values} | {operators} | {sort} | {field.description} |"


if __name__ == "__main__":
    print(render(), end="")  # noqa: T201 # the output is redirected to the page
