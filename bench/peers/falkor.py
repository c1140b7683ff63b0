"""Measure FalkorDB; `graphs` runs this file with the Python of a separate environment.

It reads JSON with links and pairs from stdin, and writes JSON with seconds and answers to stdout. Queries go directly
to the client's connection, which skips the client's conversion of answers into objects.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redislite import FalkorDB

_GRAPH = "fleet"
_BATCH = 10_000
_ENDS = "MATCH (a:N {id: $a}), (b:N {id: $b})"
_QUESTIONS = {
    "path": f"{_ENDS} CALL algo.SPpaths({{sourceNode: a, targetNode: b, relTypes: ['L'], relDirection: 'both', "
    "pathCount: 1}) YIELD path RETURN [n IN nodes(path) | n.id]",
    "all shortest paths": f"{_ENDS} WITH a, b MATCH p = allShortestPaths((a)-[:L*]-(b)) RETURN [n IN nodes(p) | n.id]",
}


def main() -> None:
    query_input = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="f") as directory:
        database = FalkorDB(str(Path(directory) / "graph.db"))
        _load(database.select_graph(_GRAPH), query_input["links"])
        answers = {name: _measure(database, query, query_input["pairs"]) for name, query in _QUESTIONS.items()}
        database.close()
    json.dump(answers, sys.stdout)


def _load(graph: Any, links: Sequence[Sequence[int]]) -> None:
    graph.query("CREATE INDEX FOR (n:N) ON (n.id)")
    nodes = sorted({end for link in links for end in link})
    for start in range(0, len(nodes), _BATCH):
        graph.query("UNWIND $x AS i CREATE (:N {id: i})", {"x": nodes[start : start + _BATCH]})
    link = "UNWIND $x AS l MATCH (a:N {id: l[0]}), (b:N {id: l[1]}) CREATE (a)-[:L]->(b)"
    for start in range(0, len(links), _BATCH):
        graph.query(link, {"x": links[start : start + _BATCH]})


def _measure(database: Any, query: str, pairs: Sequence[tuple[int, int]]) -> list[tuple[float, list[list[int]]]]:
    """Return the seconds and the paths for each pair."""
    return [_run_query(database, f"CYPHER a={a} b={b} {query}") for a, b in pairs]


def _run_query(database: Any, query: str) -> tuple[float, list[list[int]]]:
    start = time.perf_counter()
    _, rows, _ = database.connection.execute_command("GRAPH.RO_QUERY", _GRAPH, query, "--compact")
    seconds = time.perf_counter() - start
    return seconds, [[value for _, value in path] for ((_, path),) in rows]


if __name__ == "__main__":
    main()
