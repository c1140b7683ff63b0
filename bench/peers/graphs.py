"""Compare questions about places inside an UltraServer with graph databases.

The graph databases hold only the links of the domains that the questions are about, which is to their advantage.
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

from bench.measure import Row, sample_domains, chip_pairs
from bench.peers import environments
from bench.server import Served
from bench.web import routed

_MARK = 1.0
_AROUND = "three-hop memory pool"
_ASKED = {"path": "FalkorDB", "all shortest paths": "FalkorDB", _AROUND: "ladybug"}
_EACH, _ROUNDS, _SEED = 100, 6, 8
Answers = list[tuple[float, Any]]
"""Seconds and result of each query."""


def graph_rows(servers: Mapping[str, Served], file: Path, domains: int) -> Iterator[Row]:
    asked = list(chip_pairs(domains, _EACH, "domain"))
    addresses, links = _chips_and_links(file, domains)
    number = {address: key for key, address in addresses.items()}
    ends = [(number[a], number[b]) for a, b in asked]
    found, note = {_AROUND: _ladybug(links, [a for a, _ in ends])}, ""
    try:
        found |= _falkor(links, ends)
    except environments.NotInstalledError as error:
        note = f"not installed: {error}"
    for database, server in servers.items():
        taken = _taken(server, domains)
        for name, who in _ASKED.items():
            what = f"{name} inside an UltraServer, {database}"
            if name not in found:
                yield Row(what, taken[name], None, who, _MARK, note=note)
                continue
            for answer, (_, other) in zip(server.answers(routed(name, asked)), found[name], strict=True):
                assert _told(name, json.loads(answer)["data"]) == _heard(name, other, addresses), what
            yield Row(what, taken[name], statistics.median(seconds for seconds, _ in found[name]), who, _MARK)


def _taken(server: Served, domains: int) -> dict[str, float]:
    """Measure seconds per request about new pairs of places in cached domains, the questions in turn."""
    spent: dict[str, list[float]] = {name: [] for name in _ASKED}
    for turn in range(_ROUNDS):
        for name in _ASKED:
            each = server.each(routed(name, chip_pairs(domains, _EACH, "domain", _SEED + turn)))
            spent[name] += each if turn else ()
    return {name: statistics.median(each) for name, each in spent.items()}


def _chips_and_links(file: Path, domains: int) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """Read the chips' addresses by key and the scale-up links of the domains that questions are about."""
    listed = [json.dumps(sample_domains(domains))]
    with sqlite3.connect(file) as source:
        chips = source.execute(
            "SELECT c.id, cluster.slug || '/d' || d.ordinal || '/s' || s.ordinal || '/c' || c.ordinal FROM chip c "
            "JOIN server s ON s.id = c.server_id JOIN domain d ON d.id = s.domain_id "
            "JOIN cluster ON cluster.id = d.cluster_id WHERE d.ordinal IN (SELECT value FROM json_each(?))",
            listed,
        ).fetchall()
        links = source.execute(
            "SELECT a_id, b_id FROM link JOIN domain d ON d.id = link.domain_id "
            "WHERE scope IN ('server', 'rack', 'domain') AND d.ordinal IN (SELECT value FROM json_each(?))",
            listed,
        ).fetchall()
    return dict(chips), links


def _falkor(links: Sequence[tuple[int, int]], ends: Sequence[tuple[int, int]]) -> dict[str, Answers]:
    script = Path(__file__).with_name("falkor.py")
    given = json.dumps({"links": links, "pairs": ends})
    done = subprocess.run([environments.falkor(), script], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise environments.NotInstalledError(done.stderr.strip().splitlines()[-1])
    answers: dict[str, Answers] = json.loads(done.stdout)
    return answers


def _ladybug(links: Sequence[tuple[int, int]], chips: Sequence[int]) -> Answers:
    with tempfile.TemporaryDirectory(prefix="b") as name:
        tables = {"N": [(key,) for key in sorted({end for link in links for end in link})], "L": links}
        for table, rows in tables.items():
            with Path(name, f"{table}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(rows)
        other: Any = ladybug.Connection(ladybug.Database(f"{name}/graph"))
        other.execute("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
        other.execute("CREATE REL TABLE L(FROM N TO N)")
        for table in tables:
            other.execute(f"COPY {table} FROM '{name}/{table}.csv'")
        query = "MATCH (a:N {id: $a})-[e:L* SHORTEST 1..3]-(b:N) RETURN b.id, length(e)"
        return [_timed(partial(other.execute, query), chip) for chip in chips]


def _timed(execute: Any, chip: int) -> tuple[float, Any]:
    start = time.perf_counter()
    rows = execute({"a": chip}).get_all()
    return time.perf_counter() - start, [[key, hops] for key, hops in rows if key != chip]


def _told(name: str, data: Mapping[str, Any]) -> object:
    """Return the part of trninv's answer that the other system also gives."""
    if name == "path":
        return data["path"]["paths"][0]["hops"]
    if name == _AROUND:
        return {
            (one["address"], ring["hops"])
            for ring in data["memoryPool"]["byHops"]
            if ring["hops"]
            for one in ring["reached"]
        }
    found = data["path"]
    return found["tiedPaths"], {frozenset((link["source"], link["target"])) for link in found["links"]}


def _heard(name: str, answer: Sequence[Sequence[int]], addresses: Mapping[int, str]) -> object:
    """Return the same part of the other system's answer, which has paths of keys or keys with hops."""
    if name == "path":
        return len(answer[0]) - 1
    if name == _AROUND:
        return {(addresses[key], hops) for key, hops in answer}
    steps = (step for path in answer for step in pairwise(path))
    return len(answer), {frozenset((addresses[a], addresses[b])) for a, b in steps}
