"""`trninv cypher` prints rows in each format and says what it refuses."""

import io

import pytest

from conftest import Run

QUERY = "MATCH (c:Chip {address: $a}) RETURN c.state AS state, c"


def test_it_prints_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    argument = ("--set", "a=trn1.2xlarge/d0/s0/c0")
    status, out, _ = run("cypher", QUERY, *argument)
    assert status == 0
    assert out.splitlines()[2].startswith('up       {"label":"Chip","address":"trn1.2xlarge/d0/s0/c0"')
    monkeypatch.setattr("sys.stdin", io.StringIO(QUERY))
    status, out, _ = run("cypher", "-", *argument, "--format", "ndjson")
    assert out.startswith('{"state":"up","c":{"label":"Chip"')
    status, out, err = run("cypher", "MATCH (c:Chip) RETURN c.address AS a ORDER BY a", "--limit", "1")
    assert out.splitlines()[2:] == ["trn1.2xlarge/d0/s0/c0"]
    assert "truncated" in err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["MATCH (c:Chip) SET c.state = 'down'"], 2, "SET is refused"),
        (["MATCH (c:Chip) RETURN d"], 2, "Variable d is not in scope"),
        (["MATCH (s:Servr) RETURN s"], 2, "Table Servr does not exist. (did you mean Server?)"),
        (["MATCH (:Server)-[:HAS]->() RETURN 1"], 2, "Table HAS does not exist. (known: ALLOCATED, Chip"),
        (["MATCH (i:Instance) RETURN i.hostname"], 2, "Cannot find property hostname for i. (did you mean host?)"),
        ([QUERY], 2, "$a has no value: add --set a=VALUE"),
        ([QUERY, "--set", "A=x"], 2, "$a has no value"),
        (["RETURN 1", "--set", "a"], 2, "write NAME=VALUE"),
        (["RETURN 1", "--seconds", "0"], 2, "above 0"),
        (["RETURN 1", "--at", "never"], 2, "a time with its zone"),
        (["UNWIND range(1, 300000) AS x UNWIND range(1, 300000) AS y RETURN count(*)", "--seconds", "0.5"], 1, "0.5 s"),
    ],
)
def test_it_says_what_is_wrong(run: Run, arguments: list[str], status: int, message: str) -> None:
    actual, _, err = run("cypher", *arguments)
    assert actual == status
    assert message in " ".join(err.split())
