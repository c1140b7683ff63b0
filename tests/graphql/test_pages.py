"""Connections over lists in memory: the same pages as a slice of the list gives."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Ask
from trninv.catalog.facts import default_catalog
from trninv.errors import InvalidArgumentError
from trninv.graphql.pagination import InMemoryPage

LETTERS = "abcdefgh"


def page(**asked: Any) -> tuple[str, bool, bool]:
    found = InMemoryPage[str].from_items(list(LETTERS), str, asked)
    info, ends = found.page_info, (found.nodes[0], found.nodes[-1]) if found.nodes else (None, None)
    assert (info.start_cursor, info.end_cursor) == ends
    assert [(edge.node, edge.cursor) for edge in found.edges] == [(letter, letter) for letter in found.nodes]
    assert found.total_count == len(LETTERS)
    return "".join(found.nodes), info.has_previous_page, info.has_next_page


@given(st.booleans(), st.integers(0, 9), st.sampled_from([None, *LETTERS]), st.sampled_from([None, *LETTERS]))
def test_a_page_is_a_slice(backwards: bool, size: int, after: str | None, before: str | None) -> None:
    kept = [each for each in LETTERS if (after is None or each > after) and (before is None or each < before)]
    wanted = "".join((kept[-size:] if size else []) if backwards else kept[:size])
    found, previous, following = page(**{"last" if backwards else "first": size, "after": after, "before": before})
    assert found == wanted
    if wanted:
        assert previous == (wanted[0] != "a")
        assert following == (wanted[-1] != "h")


@pytest.mark.parametrize("asked", [{"after": "z"}, {"before": ""}, {"first": 1, "last": 1}, {"first": 1001}])
def test_a_page_that_can_not_be_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        page(**asked)


def test_conflicts_page_by_page(ask: Ask) -> None:
    document = """query ($after: String) { conflicts(first: 3, after: $after) { totalCount
        nodes { subject attribute } edges { cursor node { subject } } pageInfo { hasNextPage endCursor } } }"""
    wanted = [(each.subject, each.attribute) for each in default_catalog().conflicts]
    seen: list[tuple[str, str]] = []
    after = None
    while True:
        found = ask(document, after=after)["data"]["conflicts"]
        assert found["totalCount"] == len(wanted)
        assert [edge["node"]["subject"] for edge in found["edges"]] == [node["subject"] for node in found["nodes"]]
        seen += [(node["subject"], node["attribute"]) for node in found["nodes"]]
        after = found["pageInfo"]["endCursor"]
        if not found["pageInfo"]["hasNextPage"]:
            break
    assert seen == wanted


def test_conflicts_about_a_subject(ask: Ask) -> None:
    wanted = [each.attribute for each in default_catalog().conflicts if each.subject == "trainium3"]
    found = ask('{ conflicts(subject: "trainium3") { nodes { attribute } } }')["data"]["conflicts"]["nodes"]
    assert wanted
    assert [each["attribute"] for each in found] == wanted
    document = f'{{ conflicts(subject: "trainium3", attribute: "{wanted[0]}") {{ totalCount }} }}'
    assert ask(document)["data"]["conflicts"]["totalCount"] == 1
