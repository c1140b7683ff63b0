"""Compare questions about places inside an UltraServer with graph databases.

The graph databases contain only the links of the domains that the questions are about, which is to their advantage.
"""

import csv
import json
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import ladybug

from bench.measure import Row, chip_pairs, sample_domains
from bench.peers import environments
from bench.server import Server
from bench.web import ROUNDS, SEED, question_requests, question_seconds

_MARKS = {"SQLite": 1.0, "PostgreSQL": 1.5}
_POOL = "three-hop memory pool"
_COMPETITORS = {"path": "FalkorDB", "all shortest paths": "FalkorDB", _POOL: "ladybug"}
_BATCH = 100
Answers = list[tuple[float, Any]]
"""Seconds and result of each query."""


def graph_rows(servers: Mapping[str, Server], file: Path, domains: int) -> Iterator[Row]:
    place_pairs = list(chip_pairs(domains, _BATCH, "domain"))
    addresses, links = _chips_and_links(file, domains)
    keys = {address: key for key, address in addresses.items()}
    # the other systems get as many questions as trninv, the first of them as a warm-up, and then those to compare
    warm_up = [chip_pairs(domains, _BATCH, "domain", SEED + round_) for round_ in range(ROUNDS)]
    ends = [(keys[a], keys[b]) for pairs in (*warm_up, place_pairs) for a, b in pairs]
    results, note = {_POOL: _measure_ladybug(links, [a for a, _ in ends])}, ""
    try:
        results |= _measure_falkor(links, ends)
    except environments.NotInstalledError as error:
        note = f"not installed: {error}"
    for database, server in servers.items():
        medians, mark = question_seconds(server, domains), _MARKS[database]
        for name, system in _COMPETITORS.items():
            row_name = f"{name} inside an UltraServer, {database}"
            if name not in results:
                yield Row(row_name, medians[name], None, system, mark, note=note)
                continue
            bodies = server.responses(question_requests(name, place_pairs))
            for body, (_, result) in zip(bodies, results[name][-_BATCH:], strict=True):
                assert _comparable_answer(name, json.loads(body)["data"]) == _comparable_result(
                    name, result, addresses
                ), row_name
            baseline = statistics.median(seconds for seconds, _ in results[name][_BATCH:])
            yield Row(row_name, medians[name], baseline, system, mark)


def _chips_and_links(file: Path, domains: int) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """Read the chips' addresses by key and the scale-up links of the domains that questions are about."""
    ordinals = [json.dumps(sample_domains(domains))]
    with sqlite3.connect(file) as source:
        chips = source.execute(
            "SELECT c.id, cluster.slug || '/d' || d.ordinal || '/s' || s.ordinal || '/c' || c.ordinal FROM chip c "
            "JOIN server s ON s.id = c.server_id JOIN domain d ON d.id = s.domain_id "
            "JOIN cluster ON cluster.id = d.cluster_id WHERE d.ordinal IN (SELECT value FROM json_each(?))",
            ordinals,
        ).fetchall()
        links = source.execute(
            "SELECT a_id, b_id FROM link JOIN domain d ON d.id = link.domain_id "
            "WHERE scope IN ('server', 'rack', 'domain') AND d.ordinal IN (SELECT value FROM json_each(?))",
            ordinals,
        ).fetchall()
    return dict(chips), links


def _measure_falkor(links: Sequence[tuple[int, int]], ends: Sequence[tuple[int, int]]) -> dict[str, Answers]:
    script = Path(__file__).with_name("falkor.py")
    query_input = json.dumps({"links": links, "pairs": ends})
    completed = subprocess.run(
        [environments.install_falkor(), script], input=query_input, capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise environments.NotInstalledError(completed.stderr.strip().splitlines()[-1])
    answers: dict[str, Answers] = json.loads(completed.stdout)
    return answers


def _measure_ladybug(links: Sequence[tuple[int, int]], chips: Sequence[int]) -> Answers:
    with tempfile.TemporaryDirectory(prefix="b") as name:
        tables = {"N": [(key,) for key in sorted({end for link in links for end in link})], "L": links}
        for table, rows in tables.items():
            with Path(name, f"{table}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(rows)
        connection: Any = ladybug.Connection(ladybug.Database(f"{name}/graph"))
        connection.execute("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
        connection.execute("CREATE REL TABLE L(FROM N TO N)")
        for table in tables:
            connection.execute(f"COPY {table} FROM '{name}/{table}.csv'")
        query = "MATCH (a:N {id: $a})-[e:L* SHORTEST 1..3]-(b:N) RETURN b.id, length(e)"
        return [_run_query(partial(connection.execute, query), chip) for chip in chips]


def _run_query(execute: Any, chip: int) -> tuple[float, Any]:
    start = time.perf_counter()
    rows = execute({"a": chip}).get_all()
    return time.perf_counter() - start, [[key, hops] for key, hops in rows if key != chip]


def _comparable_answer(name: str, data: Mapping[str, Any]) -> object:
    """Return the part of trninv's answer that the other system returns too."""
    if name == "path":
        return data["path"]["paths"][0]["hops"]
    if name == _POOL:
        return {
            (chip["address"], ring["hops"])
            for ring in data["memoryPool"]["byHops"]
            if ring["hops"]
            for chip in ring["reached"]
        }
    path = data["path"]
    return path["tiedPaths"], {frozenset((link["source"], link["target"])) for link in path["links"]}


def _comparable_result(name: str, result: Sequence[Sequence[int]], addresses: Mapping[int, str]) -> object:
    """Return the same part of the other system's answer, which has paths of keys or keys with hops."""
    if name == "path":
        return len(result[0]) - 1
    if name == _POOL:
        return {(addresses[key], hops) for key, hops in result}
    steps = (step for path in result for step in pairwise(path))
    return len(result), {frozenset((addresses[a], addresses[b])) for a, b in steps}
