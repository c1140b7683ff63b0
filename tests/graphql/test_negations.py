"""`not` of a condition: it holds where the condition does not, also where what it is about is null."""

from typing import Any

import pytest

from conftest import Ask

_ABOUT_NULL: list[tuple[str, str, int]] = [
    ("chips", "{ not: { factor: { lt: 0.9 } } }", 16),
    ("chips", "{ not: { factor: { eq: 0.5 } } }", 16),
    ("chips", "{ not: { factor: { in: [0.5] } } }", 16),
    ("chips", "{ not: { not: { factor: { gt: 0.9 } } } }", 0),
    ("chips", "{ not: { and: [{ factor: { lt: 0.9 } }, { ordinal: { lt: 4 } }] } }", 16),
    ("chips", "{ not: { or: [{ factor: { lt: 0.9 } }, { ordinal: { lt: 4 } }] } }", 12),
    ("chips", "{ not: { factor: { lt: 0.9 }, ordinal: { gte: 4 } } }", 16),
    ("chips", "{ not: { factor: { eq: null } } }", 0),
    ("chips", "{ not: { factor: { ne: null } } }", 16),
    ("links", "{ not: { factor: { lt: 0.9 } }, state: { eq: UP } }", 32),
]
"""Filters of one Trn2 server, of which every factor is null, and how many rows they leave."""


@pytest.mark.parametrize(("kind", "condition", "count"), _ABOUT_NULL)
def test_the_negation_of_what_null_is_not_holds(ask: Ask, kind: str, condition: str, count: int) -> None:
    """By either executor: `ask` holds the answer of one to that of the other."""
    scope = '{ cluster: { in: ["trn2-16.48xlarge"] } }'
    only = "" if kind == "chips" else ", { scope: { eq: SERVER } }"
    document = f"{{ {kind}(filter: {{ and: [{scope}, {condition}{only}] }}) {{ totalCount nodes {{ id }} }} }}"
    found: dict[str, Any] = ask(document)
    assert found["errors"] == []
    assert (found["data"][kind]["totalCount"], len(found["data"][kind]["nodes"])) == (count, count)
