"""Print the reference page of the graph: ``python -m trninv.graph_projection > docs/reference/cypher.md``."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from trninv.graph_projection.query_guard import ALLOWED_STARTS, MAX_BYTES, MAX_DEPTH, REFUSED_WORDS
from trninv.graph_projection.schema import LABELS, RELATIONSHIPS, Property

_HEADER = f"""# Cypher

Generated from trninv/graph_projection/schema.py by `python -m trninv.graph_projection`; do not edit this page.

`trninv cypher`, `POST /cypher` and `fleet.cypher(…)` run one read-only query over the whole fleet as a graph. They need
the [extra](../how-to/deploy.md#extras) graph. [Ask in Cypher](../how-to/ask-in-cypher.md) has examples, and [the fleet
as a graph](../explanation/graph.md) says when Cypher is the right language.

The dialect is that of [ladybug](https://ladybugdb.com): openCypher with a fixed schema. `MATCH`, `OPTIONAL MATCH`,
`WHERE`, `WITH`, `UNWIND`, `UNION`, `EXISTS {{ … }}`, `COUNT {{ … }}`, variable length (`*1..3`) and shortest paths
(`* SHORTEST 1..16`, `* ALL SHORTEST 1..16`, `* WSHORTEST(property) 1..16`) work. `shortestPath()`, `CALL {{ … }}`, list
comprehensions, `type(r)` (write `label(r)`) and quantified path patterns do not. In a variable length pattern, a
relationship may repeat.

## Limits

- A query is one statement of up to {MAX_BYTES:,} bytes, nested up to {MAX_DEPTH} deep. It starts with
  {", ".join(f"`{word}`" for word in ALLOWED_STARTS)}.
- These words are refused outside of texts, comments and backticks: {", ".join(sorted(REFUSED_WORDS))}.
- Characters other than ASCII may stand only in texts, comments and names in backticks.
- Values come as parameters: `$name` with `--set NAME=VALUE` (a text), or `"parameters"` in the body of
  `POST /cypher`.
- Time, rows and bytes are limited as for [SQL](sql.md). A query that needs more than about a gigabyte of memory fails.
- The errors are `BAD_CYPHER`, `TIME_LIMIT` and, without the extra, `BAD_USE`.

`POST /cypher` takes `{{"cypher": "…", "parameters": {{…}}, "format": "json", "at": "…"}}` and needs a
token of scope `sql`. The response has the headers `X-As-Of` and `X-Truncated`, like `POST /sql`.

## Freshness

An answer is of the newest state, or of the state at `--at TIME`, and names its revision. The graph is a file in the
user's cache directory or in `TRNINV_GRAPH_CACHE`. The first query of a fleet builds it, and the first query after a
change updates a copy of it. Files are never written again once they are used, and the two that were used last are kept.

## Values

A node is an object with its `label` and its properties, a relationship the same, and a path has `nodes` and
`relationships`. Null properties are omitted. CSV, Parquet and tables show lists and objects as JSON."""

_FREQUENT: Final = 4
"""Number of labels from which on a property that they share is described once."""


def render_page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield f"{_HEADER}\n"
    yield "## Labels\n"
    counts = Counter(item for label in LABELS for item in label.properties)
    frequent = [item for item, count in counts.items() if count >= _FREQUENT]
    yield "Properties that several labels have:\n"
    yield from _render_properties(frequent)
    for label in LABELS:
        yield f"\n### {label.name}\n"
        above = ", ".join(f"`{item.name}`" for item in label.properties if item in frequent)
        has_above = f" Properties as above: {above}." if above else ""
        yield f"{label.description} `{label.key}` identifies it, and finds it without a search.{has_above}"
        if own := [item for item in label.properties if item not in frequent]:
            yield ""
            yield from _render_properties(own)
    yield "\n## Relationships"
    for relationship in RELATIONSHIPS:
        yield f"\n### {relationship.name}\n"
        yield f"{relationship.description}\n"
        yield from (f"- `(:{start})-[:{relationship.name}]->(:{end})`" for start, end in relationship.pairs)
        if relationship.properties:
            yield ""
            yield from _render_properties(relationship.properties)


def _render_properties(properties: Sequence[Property]) -> Iterator[str]:
    yield "| property | type | meaning |"
    yield "| --- | --- | --- |"
    yield from (f"| `{item.name}` | {item.type} | {item.description} |" for item in properties)


if __name__ == "__main__":
    print("\n".join(render_page()))  # noqa: T201 # the output is redirected to the page
