"""Cypher that would do harm if its process could: read and write files, reach out, or take all of the machine."""

from pathlib import Path

from trninv.errors import CypherError, TimeLimitError

GREEDY = {
    "UNWIND range(1, 1000000000) AS x RETURN max(x) AS x": (CypherError, "too much memory"),
    "UNWIND range(1, 99999) AS x UNWIND range(1, 99999) AS y UNWIND range(1, 99999) AS z RETURN max(x + y + z) AS n": (
        TimeLimitError,
        "more than 0.5 s",
    ),
    "MATCH (a:Chip), (b:Chip), (c:Chip), (d:Chip) WHERE a.ordinal + b.ordinal + c.ordinal = d.ordinal - 99 "
    "RETURN count(*) AS n": (TimeLimitError, "more than 0.5 s"),
    "MATCH (a:Chip)-[l:SCALE_UP*1..30]-(b) RETURN count(*) AS n": (TimeLimitError, "more than 0.5 s"),
    "RETURN repeat('x', 2000000000) AS x": (CypherError, ""),
    "MATCH (a:Chip), (b:Chip), (c:Chip) RETURN collect(a.address + b.address + c.address) AS x": (CypherError, ""),
}
"""Queries that take too much, each with the error that stops it."""


def harmful(place: Path) -> dict[str, str]:
    """Queries that the check of texts refuses, each with what its process says of it."""
    return {
        "LOAD FROM '/etc/passwd' (file_format='csv', header=false) RETURN *": "Too many open files",
        f"COPY (MATCH (c:Cluster) RETURN c.address) TO '{place}/out.csv'": "Too many open files",
        "INSTALL httpfs": "",
        "LOAD EXTENSION httpfs": "",
        "MATCH (c:Cluster) SET c.system = 'x'": "read-only",
        "CREATE (:Cluster {address: 'x'})": "read-only",
        "CHECKPOINT": "",
        f"ATTACH '{place}/x' AS x (dbtype lbug)": "",
        "LOAD FROM request RETURN *": "",
        f"EXPORT DATABASE '{place}/export'": "",
    }
