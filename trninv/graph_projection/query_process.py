"""Run one Cypher query on a graph file in a process that can do nothing else; `query_worker` starts it.

It is started by its path and imports only ladybug and the standard library. It reads two lines of JSON from stdin: the
file to open, and later the query. It writes lines of JSON: the names of the columns, lists of rows, and an empty list
at the end; or the text of an error.

Once the file is open, before the query is known, the process can open no other file or connection, write no file, and
use only so much memory; with the query begins its time. What a query asks for beyond that fails. Without a query, the
process ends when its starter closes stdin or ends, or after IDLE_SECONDS.
"""

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

POOL_BYTES: Final = 256 * 2**20
"""Memory for the pages of the graph."""
MEMORY_BYTES: Final = 1_280 * 2**20
"""Address space of the process besides that for the file: pages, intermediate results and the interpreter."""
TOO_LARGE: Final = "it needs too much memory; return less, or add LIMIT"
TIMED_OUT: Final = "Interrupted"
IDLE_SECONDS: Final = 600
"""How long a process waits for its query."""
_CHUNK: Final = 64
"""Rows that are sent at a time."""
_MEMORY_ERRORS: Final = ("bad_alloc", "Buffer manager exception", "MemoryError")
_MAX_MESSAGE: Final = 300
_WARM_UP: Final = (
    "MATCH (c:Cluster) RETURN count(*), sum(1), cast(1 AS DECIMAL(9, 2)), gen_random_uuid(), date('2026-01-01'), "
    "timestamp('2026-01-01'), interval('1 day'), map([1], [2])"
)
"""A query that imports and opens what is imported and opened on first use, which the limits would refuse later."""
_WARM_UP_AHEAD: Final = (
    "MATCH (a:Chip {address: ''})-[:SCALE_UP|EFA*1..2]-(b) WHERE b.state <> 'up' RETURN b.address AS b, count(*) AS n "
    "ORDER BY n LIMIT 1"
)
"""Another one, for a process that is started ahead: it takes as long as it saves."""
_INTERNAL_KEYS: Final = frozenset({"_ID", "_SRC", "_DST"})
_MAX_EXACT: Final = 2**63


def _confine(size: int) -> None:
    lowest_free = os.dup(1)
    os.close(lowest_free)
    limits = {
        resource.RLIMIT_AS: size + MEMORY_BYTES,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: lowest_free,
    }
    for kind, value in limits.items():
        resource.setrlimit(kind, (value, value))


def _limit_time(seconds: float) -> None:
    cpu_seconds = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))


def _plain(value: Any) -> Any:
    """Return a value that JSON has: nodes and relationships without internal ids, fractions that are finite."""
    if isinstance(value, Mapping):
        is_part = "_LABEL" in value  # ladybug gives it the properties of all labels that the query allows
        items = ((key, item) for key, item in value.items() if not (is_part and item is None))
        return {_key(key): _plain(item) for key, item in items if key not in _INTERNAL_KEYS}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):  # of sums, too
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return value if -_MAX_EXACT <= value < _MAX_EXACT else str(value)
    return value if value is None else str(value)  # times, decimals, UUIDs, …


def _key(key: object) -> str:
    return {"_LABEL": "label", "_NODES": "nodes", "_RELS": "relationships"}.get(str(key), str(key))


def _send(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


def _open(request: Mapping[str, Any]) -> Any:
    """Open the graph that a request names, and give up everything else; return a connection to it."""
    sys.path.append(request["path"])
    import ladybug  # noqa: PLC0415 # found in the directory that the request names

    database = ladybug.Database(
        request["file"], read_only=True, buffer_pool_size=POOL_BYTES, max_db_size=request["size"], max_num_threads=1
    )
    connection = ladybug.Connection(database, num_threads=1)
    for query in (_WARM_UP, _WARM_UP_AHEAD) if request["ahead"] else (_WARM_UP,):
        warm_up: Any = connection.execute(query)
        warm_up.get_all()
    _confine(request["size"])
    return connection


def _run(connection: Any, request: Mapping[str, Any]) -> None:
    _limit_time(request["seconds"])
    connection.set_query_timeout(max(int(request["seconds"] * 1000), 1))
    result: Any = connection.execute(request["query"], request["parameters"])
    _send(result.get_column_names())
    rows = []
    while result.has_next():
        rows.append([_plain(value) for value in result.get_next()])
        if len(rows) == _CHUNK:
            _send(rows)
            rows = []
    if rows:
        _send(rows)
    _send([])


def _read_query() -> Mapping[str, Any]:
    """Return the query, or end the process if there comes none."""
    signal.alarm(IDLE_SECONDS)
    line = sys.stdin.buffer.readline()
    signal.alarm(0)
    if not line:
        os._exit(0)
    request: Mapping[str, Any] = json.loads(line)
    return request


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, which then ends the process
    try:
        connection = _open(json.loads(sys.stdin.buffer.readline()))
        _run(connection, _read_query())
    except MemoryError:
        _send(TOO_LARGE)
    except Exception as error:  # noqa: BLE001 # ladybug raises RuntimeError, but also others
        text = " ".join(str(error).split())
        _send(TOO_LARGE if any(mark in text for mark in _MEMORY_ERRORS) else text[:_MAX_MESSAGE])
    sys.stdout.flush()
    os._exit(0)  # without closing the graph, which could wait for a query


if __name__ == "__main__":
    _main()
