"""Cypher from a stranger: refused by its text, and harmless where the text is not checked."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from harmful_cypher import GREEDY, harmful
from hypothesis import given
from hypothesis import strategies as st

import trninv
from conftest import examples, mostly_slow, seeds
from trninv import Fleet
from trninv.errors import CypherError, TimeLimitError
from trninv.graph_projection import cypher_query, query_guard
from trninv.graph_projection.query_guard import check_query

MATCH = "MATCH (c:Cluster) RETURN c.address"
REFUSED = {
    "LOAD FROM '/etc/passwd' (file_format='csv') RETURN *": "starts with LOAD",
    "MATCH (c:Cluster) LOAD FROM '/etc/passwd' RETURN *": "LOAD is refused",
    "MATCH (c:Cluster) l\u006fad from x RETURN *": "LOAD is refused",
    f"COPY ({MATCH}) TO '/tmp/x.csv'": "starts with COPY",
    f"{MATCH} UNION COPY (RETURN 1) TO 'x'": "COPY is refused",
    "EXPORT DATABASE '/tmp/x'": "starts with EXPORT",
    "IMPORT DATABASE '/tmp/x'": "starts with IMPORT",
    "INSTALL httpfs": "starts with INSTALL",
    "FORCE INSTALL httpfs": "starts with FORCE",
    "ATTACH '/tmp/x' AS x (dbtype 'lbug')": "starts with ATTACH",
    "USE x": "starts with USE",
    "CALL timeout=0": "starts with CALL",
    "MATCH (c:Cluster) CALL show_tables() RETURN *": "CALL is refused",
    "MATCH (c:Chip) SET c.state = 'up'": "SET is refused",
    "CREATE (:Cluster {address: 'x'})": "starts with CREATE",
    "MATCH (c:Chip) DETACH DELETE c": "DETACH is refused",
    "MERGE (c:Cluster {address: 'x'}) RETURN c": "starts with MERGE",
    "DROP TABLE Chip": "starts with DROP",
    "ALTER TABLE Chip ADD x INT64": "starts with ALTER",
    "CHECKPOINT": "starts with CHECKPOINT",
    "BEGIN TRANSACTION": "starts with BEGIN",
    "EXPLAIN MATCH (c) RETURN c": "starts with EXPLAIN",
    "PROFILE MATCH (c) RETURN c": "starts with PROFILE",
    f"{MATCH}; {MATCH}": "several statements",
    f"{MATCH};;": "several statements",
    f";{MATCH}": "starts with ;",
    "RETURN 1; COPY (RETURN 1) TO '/tmp/x.csv'": "several statements",
    "RETURN 1 /* ; */ ; INSTALL httpfs": "several statements",
    "RETURN 1 // \n; CHECKPOINT": "several statements",
    "RETURN 1 // \r; CHECKPOINT": "several statements",
    "RETURN 'a' /* ' */ LOAD FROM x": "LOAD is refused",
    "RETURN '\\'' LOAD FROM x RETURN '": "may only stand in a text",
    'RETURN "\'" LOAD FROM x': "LOAD is refused",
    "RETURN `'` LOAD FROM x": "LOAD is refused",
    "RETURN 1 LOAD\u00a0FROM x": "may only stand in a text",
    "RETURN 'a": "may only stand in a text",
    "RETURN /* ": "starts with RETURN",
    "RETURN `a": "may only stand in a text",
    "RETURN \u212aa": "may only stand in a text",
    "RETURN 1\u2028": "may only stand in a text",
    "RETURN 1\x00": "may only stand in a text",
    "RETURN \ud800": "may only stand in a text",
    "RETURN " + "(" * 51 + "1" + ")" * 51: "nested more than 50",
    "RETURN " + "[" * 51 + "]" * 51: "nested more than 50",
    "RETURN " + "NOT " * 50_000 + "true": "more than 4,096 bytes",
    "RETURN '" + "x" * 4_096 + "'": "more than 4,096 bytes",
    "": "starts with nothing",
    " // only a comment": "starts with nothing",
}


class _EveryName:
    def __contains__(self, name: object) -> bool:
        return True


_NAMES = _EveryName()


@pytest.mark.parametrize("query", REFUSED, ids=range(len(REFUSED)))
def test_the_text_is_refused(query: str) -> None:
    if query == "RETURN /* ":  # its signs are no comment, and ladybug can't parse them
        assert check_query(query, 1, _NAMES).startswith(query)
        return
    with pytest.raises(CypherError) as refused:
        check_query(query, 1, _NAMES)
    assert REFUSED[query] in str(refused.value)


@pytest.mark.parametrize("name", ["a", "a_1", "12", "`a b`", "return"])
def test_a_parameter_without_a_value_is_refused(lite_fleet: Fleet, name: str) -> None:
    query = f"RETURN '$x' + \"$y\" /* $z */ AS `$a`, ${name} AS b // $c"
    with pytest.raises(CypherError, match=f"^{re.escape(f'${name} has no value: add --set {name}=VALUE, or ')}"):
        lite_fleet.cypher(query, {"A": 1})
    for value in 1, None:
        assert lite_fleet.cypher(query, {name: value}).rows == [("$x$y", value)]


ACCEPTED = {
    "RETURN 'LOAD FROM x; COPY' AS text": "LOAD FROM x; COPY",
    'RETURN "CALL" AS text': "CALL",
    "RETURN 'it\\'s; SET' AS text": "it's; SET",
    "RETURN /* COPY; */ 'a' AS text // DELETE": "a",
    "RETURN 'a' AS `set`": "a",
    "WITH 'a' AS x RETURN x;": "a",
    "UNWIND ['a'] AS x RETURN x ; // end": "a",
    "return 'é \u2028 \U0001f600' as text": "é \u2028 \U0001f600",
    "OPTIONAL MATCH (c:Cluster {address: 'none'}) RETURN coalesce(c.address, 'a') AS x": "a",
    "RETURN " + "(" * 50 + "'a'" + ")" * 50 + " AS x": "a",
}


@pytest.mark.parametrize("query", mostly_slow(ACCEPTED, 4), ids=range(len(ACCEPTED)))
def test_words_in_texts_names_and_comments_are_no_statements(lite_fleet: Fleet, query: str) -> None:
    assert lite_fleet.cypher(query).rows == [(ACCEPTED[query],)]


@given(st.text(alphabet="'\"`/*\\;\n -$.()[]{}aRLOADCPYSETfrom1\u00e9", max_size=60))
@examples(300)
def test_whatever_is_accepted_has_no_refused_word_outside_of_texts(text: str) -> None:
    query = f"RETURN 1 {text}"
    try:
        check_query(query, 1, _NAMES)
    except CypherError:
        return
    bare = query_guard._TOKEN.sub(
        lambda token: " " if token.lastgroup in ("text", "name", "comment") or "`" in token[0] else token[0], query
    )
    words = {word.upper() for word in bare.replace(";", " ; ").split()}
    assert not words & query_guard.REFUSED_WORDS


@pytest.fixture
def unguarded(lite_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A fleet that runs any text, as if the check of texts had a gap."""
    monkeypatch.setattr(cypher_query, "check_query", lambda query, *_: query)
    return lite_fleet


@pytest.mark.parametrize("number", seeds(10, 5))
def test_without_the_check_nothing_is_read_written_or_changed(unguarded: Fleet, tmp_path: Path, number: int) -> None:
    query, reason = list(harmful(tmp_path).items())[number]
    graph = cypher_query.find_projection(unguarded.shared_snapshot())
    before = graph.read_bytes()
    with pytest.raises(CypherError) as refused:
        unguarded.cypher(query)
    assert reason in str(refused.value)
    assert "root:" not in str(refused.value)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
    assert graph.read_bytes() == before
    assert {file.suffix for file in graph.parent.iterdir()} <= {".json", ".ladybug", ".lock"}
    assert unguarded.cypher("MATCH (c:Cluster) RETURN count(*) AS n").rows == [(6,)]


@pytest.mark.parametrize("query", mostly_slow(GREEDY, 3), ids=range(len(GREEDY)))
def test_a_query_that_takes_too_much_is_stopped(lite_fleet: Fleet, query: str) -> None:
    kind, message = GREEDY[query]
    begin = time.monotonic()
    with pytest.raises((kind, TimeLimitError)) as stopped:
        lite_fleet.cypher(query, seconds=0.5)
    assert message in str(stopped.value) or isinstance(stopped.value, TimeLimitError)
    assert time.monotonic() - begin < 20


def test_a_process_that_crashes_fails_only_its_query(unguarded: Fleet) -> None:
    with pytest.raises((CypherError, TimeLimitError)):
        unguarded.cypher("RETURN " + "NOT " * 50_000 + "true AS x", seconds=10)
    assert unguarded.cypher("RETURN 1 AS x").rows == [(1,)]


BAD_PARAMETERS: list[Any] = [{"a": object()}, {"a": float("nan")}, {"a": "x" * 2**20}]


@pytest.mark.parametrize("parameters", BAD_PARAMETERS, ids=range(len(BAD_PARAMETERS)))
def test_parameters_are_small_json_values(lite_fleet: Fleet, parameters: Any) -> None:
    with pytest.raises(CypherError):
        lite_fleet.cypher("RETURN $a AS a", parameters)


def test_parameters_are_values_and_never_text_of_the_query(lite_fleet: Fleet) -> None:
    text = "'}) RETURN 1; LOAD FROM x //"
    assert lite_fleet.cypher("RETURN $a AS a, $b AS b, $c AS c", {"a": text, "b": [1, 2], "c": 1.5}).rows == [
        (text, [1, 2], 1.5)
    ]
    with pytest.raises(CypherError, match=r"\$a has no value"):
        lite_fleet.cypher("RETURN $a AS a", {"b": 1})


def test_rows_and_bytes_are_limited(lite_fleet: Fleet) -> None:
    result = lite_fleet.cypher("MATCH (c:Chip) RETURN c.address", limit=7)
    assert (len(result.rows), result.truncated) == (7, True)
    result = lite_fleet.cypher("MATCH (c:Chip) RETURN c.address LIMIT 7", limit=7)
    assert (len(result.rows), result.truncated) == (7, False)
    with trninv.open(str(lite_fleet.engine.url)) as fleet:
        snapshot = fleet.shared_snapshot()
        rows = cypher_query.run_cypher(snapshot, "MATCH (c:Chip) RETURN c.address", seconds=9, max_bytes=200)
        assert 0 < len(rows.rows) < 10
        assert rows.truncated
        snapshot.close()
    with pytest.raises(CypherError, match="100,000 characters"):
        lite_fleet.cypher("RETURN repeat('x', 100001) AS x")
    with pytest.raises(CypherError, match="two columns are called a"):
        lite_fleet.cypher("RETURN 1 AS a, 2 AS a")
