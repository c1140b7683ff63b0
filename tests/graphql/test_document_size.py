"""What reading a document costs: work in proportion to its length, whatever it says."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from graphql import get_introspection_query
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import examples, mostly_slow
from trninv.errors import DocumentError
from trninv.graphql import document_cache
from trninv.graphql.api import Api
from trninv.graphql.document_cache import MAX_CACHED_CHARACTERS, MAX_CHARACTERS, DocumentCache, DocumentErrors
from trninv.graphql.document_request import Request
from trninv.graphql.graphql_schema import schema
from trninv.graphql.query_cost import MAX_REPEATS
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

SCHEMA = schema()._schema
CALLS, CALLS_PER_CHARACTER = 600_000, 50
"""Calls of functions that reading may take: what comparing fields may cost, and the rest by the length."""


class TooMuchWorkError(Exception):
    """Raised out of whatever works too long."""


def work(read: Callable[[], object], most: int) -> int:
    """Calls of Python functions in it; ends it where there are more than it may have."""
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"
        if calls > most:
            sys.setprofile(None)
            raise TooMuchWorkError

    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(None)
    return calls


def chain(links: int, spreads: int = 2, end: str = "__typename") -> str:
    """Fragments each of which spreads the next one several times."""
    made = [f"fragment F{i} on Query{{{f'...F{i + 1} ' * spreads}}}" for i in range(links)]
    return " ".join(["{...F0}", *made, f"fragment F{links} on Query{{{end}}}"])


BOMBS = {
    "20 links": chain(20),
    "32 links": chain(32),
    "links without fields": chain(32, end=""),
    "fields below fields": "{clusters{nodes{...F0}}}"
    + "".join(f"fragment F{i} on Cluster{{domains{{nodes{{cluster{{...F{i + 1} ...F{i + 1}}}}}}}}}" for i in range(40))
    + "fragment F40 on Cluster{slug}",
    "the same list": "{" + "clusters{nodes{slug}}" * 1200 + "}",
    "the same list, shorter": "{" + "clusters{slug}" * 1200 + "}",
    "the same leaf": "{" + "__typename " * 4900 + "}",
    "lists within lists": "{" + ("clusters{" + "nodes{slug}" * 30 + "}") * 30 + "}",
    "many fragments": "{" + "".join(f"...F{i} " for i in range(280)) + "}"
    + "".join(f"fragment F{i} on Query{{clusters{{nodes{{slug}}}}}}" for i in range(280)),
    "many operations": " ".join(f"query Q{i}{{...F0}}" for i in range(600)) + chain(100, 1)[7:],
    "a circle": chain(30).replace("__typename", "...F0"),
    "inline fragments": "{" + "...{" * 150 + "__typename" + "}" * 151,
    "nothing but a text": '{resolve(address:"' + "x" * 900_000 + '"){address}}',
    "comments": "{a" + "#\n" * 490_000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("bomb", mostly_slow(BOMBS, 7))
def test_a_bomb_is_refused_for_less_than_its_length_allows(bomb: str) -> None:
    text = BOMBS[bomb]
    read = DocumentCache(SCHEMA)._parse
    assert work(lambda: read(text), CALLS + CALLS_PER_CHARACTER * len(text)) > 0
    found = read(text)
    if bomb not in ("many operations", "inline fragments"):
        assert isinstance(found, DocumentErrors)
        assert found.kind is DocumentError
        assert "Validation aborted." not in [error.message for error in found.errors]


NAMES = ("clusters", "nodes", "domains", "cluster", "slug", "address", "__typename", "chips", "x: chips", "nonsense")


@st.composite
def document(draw: st.DrawFn) -> str:
    """Operations and fragments of the schema's words, most of them wrong, with much that repeats."""
    fragments = draw(st.integers(0, 8))

    def selections(depth: int) -> str:
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            if depth and draw(st.booleans()):
                part = f"{draw(st.sampled_from([*NAMES, '...']))}{{{selections(depth - 1)}}} "
            else:
                part = draw(st.sampled_from([*NAMES, *(f"...F{i}" for i in range(fragments + 1))])) + " "
            parts.append(part * draw(st.sampled_from([1, 1, 2, 30])))
        return "".join(parts)

    on = st.sampled_from(["Query", "Cluster", "Domain", "ClusterConnection"])
    made = [f"fragment F{i} on {draw(on)} {{{selections(2)}}}" for i in range(fragments)]
    made += [f"query Q{i} {{{selections(3)}}}" for i in range(draw(st.integers(1, 3)))]
    return " ".join(made)


@pytest.mark.slow
@examples(25)
@given(document())
@example(chain(200, 3))
@example("{" + "".join(f"...F{i} " for i in range(40)) + "}" + "".join(chain(40, 5)[7:]))
def test_reading_costs_work_in_proportion_to_the_length(text: str) -> None:
    read = DocumentCache(SCHEMA)._parse
    assert work(lambda: read(text), CALLS + CALLS_PER_CHARACTER * len(text)) > 0


@examples(25)
@given(document())
def test_a_document_that_may_run_has_a_cost_in_proportion_to_what_it_selects(text: str) -> None:
    found = DocumentCache(SCHEMA)._parse(text)
    for operation in () if isinstance(found, DocumentErrors) else found.values():
        assert work(lambda each=operation: each.cost(each.variables({})), CALLS) > 0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (chain(12), "more than 5,000"),
        ("{" + "__typename " * (MAX_REPEATS + 1) + "}", "__typename is selected more than 50 times in one place"),
        ("{a...{" + "b " * 30 + "} ...{" + "b " * 30 + "}}", "b is selected more than 50 times in one place"),
        (chain(30).replace("__typename", "...F0"), "spreads itself"),
        ("{" + "clusters{nodes{domains{" * 5 + "nodes{slug}" + "}}}" * 5 + "}", "maximum operation depth of 14"),
        ("{...A}fragment A on Query{" + "clusters{nodes{" * 8 + "a" + "}}" * 8 + "}", "maximum operation depth"),
        ("{" + "...A ...A}fragment A on Query{" + "".join(f"a{i}:systems{{slug}}" for i in range(26)) + "}", "aliases"),
        (BOMBS["lists within lists"], "selects the same fields too often"),
        ("#" * (MAX_CHARACTERS + 1), "more than 100,000"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_in_one_line(text: str, said: str) -> None:
    found = DocumentCache(SCHEMA)._parse(text)
    assert isinstance(found, DocumentErrors)
    (error,) = found.errors
    assert said in error.message
    assert "\n" not in error.message


def test_what_is_at_the_limits_is_read() -> None:
    read = DocumentCache(SCHEMA)._parse
    for text in (
        get_introspection_query(),
        "{" + "__typename " * MAX_REPEATS + "}",
        "{" + "".join(f"a{i}:systems{{slug}}" for i in range(50)) + "}",
        chain(10),
        "{clusters{nodes{domains{nodes{servers{nodes{chips{nodes{server{domain{cluster{domains{nodes{cluster{slug}}}}}}}}}}}}}}}",
    ):
        assert not isinstance(read(text), DocumentErrors), text


def test_what_is_remembered_is_bounded() -> None:
    known = DocumentCache(SCHEMA)
    for at in range(30):
        known.operation(f"query A{at} {{__typename}} #" + "x" * (MAX_CHARACTERS - 40), None)
    assert sum(map(len, known._cache)) == known._cached_characters <= MAX_CACHED_CHARACTERS


def test_the_loop_reads_no_document(lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    for module, name in (
        (document_cache, "parse"),
        (document_cache, "check_size"),
        (document_cache, "validate"),
        (document_cache, "compute_cost"),
    ):
        real = getattr(module, name)

        def noted(*given: Any, _real: Any = real, **named: Any) -> Any:
            threads.add(threading.get_ident())
            return _real(*given, **named)

        monkeypatch.setattr(module, name, noted)
    api = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url)))
    assert asyncio.run(api.run(Request("{ __typename }"))).code is None
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("document", "variables"),
    [
        ("{ cluster { slug } }", {}),
        ("{ clustesr { nodes { slug } } }", {}),
        ("{ clusters { nodez { slug } } }", {}),
        ("{ clusters(frist: 1) { nodes { slug } } }", {}),
        ("query ($f: ChipFilterr) { chips { totalCount } }", {}),
        ("{ chips(filter: {state: {eq: UPP}}) { totalCount } }", {}),
        ("query ($f: ChipFilter) { chips(filter: $f) { totalCount } }", {"f": {"stat": {"eq": "UP"}}}),
    ],
)
def test_without_introspection_no_name_is_told(lite_fleet: BaseFleet, document: str, variables: dict[str, Any]) -> None:
    def errors(**given: Any) -> str:
        api = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url), **given))
        answer = json.loads(asyncio.run(api.run(Request(document, variables))).body)
        return " ".join(error["message"] for error in answer["errors"])

    assert "Did you mean" in errors() or document == "{ cluster { slug } }"
    assert "Did you mean" not in errors(introspection=False)
