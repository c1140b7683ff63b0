"""Send requests to every route of the service and check the responses, for `trninv up --check`."""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import uvicorn
from sqlalchemy import select
from uvicorn.importer import import_from_string

import trninv
from trninv.cli.serve_commands import APPLICATION_PATH, open_socket
from trninv.database.engine import read_transaction, temporary_engine
from trninv.database.tables import TABLES
from trninv.errors import InternalError, how_to_install
from trninv.routing.cluster_overview import read_overview
from trninv.settings import Settings, site_directory

_HOST, _JSON = "127.0.0.1", "application/json"
_SECONDS = 60.0
"""Time limit of a response."""
_WEB = Path(trninv.__file__).parent / "web"


@dataclass(frozen=True, slots=True)
class Probe:
    """A request and the expected response.

    Attributes
    ----------
    route
        Path as the application declares it.
    path
        Path and query string as requested.
    media_type
        Content type requested and expected.
    expected
        Bytes that the response body must contain.
    body
        JSON to POST; None for a GET.
    status
        Expected HTTP status.

    """

    route: str
    path: str
    media_type: str
    expected: bytes
    body: Mapping[str, object] | None = None
    status: int = HTTPStatus.OK


def _expected_of_agents() -> tuple[bytes, Mapping[str, object], int]:
    """Return what /mcp answers, what is posted and the status, with the package mcp and without."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    if find_spec("mcp"):
        return b'"bisection"', message, HTTPStatus.OK
    return how_to_install("mcp").encode(), message, HTTPStatus.NOT_FOUND


def _documentation_probe() -> Probe:
    index = site_directory() / "index.html"
    if index.is_file():
        return Probe("/docs", "/docs/", "text/html", index.read_bytes())
    return Probe("/docs", "/docs/", "text/html", b"./run docs", None, HTTPStatus.NOT_FOUND)


def check_service(database: str) -> int:
    """Start the service on a free port of this machine, send every probe, and stop it again.

    Apart from the database and the SQL login, the service runs with default settings, regardless of the environment.
    It therefore requires no token; to keep other users of the machine out, it answers only to a random host name.

    Parameters
    ----------
    database
        URL of a seeded database.

    Returns
    -------
    int
        The number of probes; all of them succeeded.

    Raises
    ------
    InternalError
        Some probes failed; the message has their routes and responses.

    """
    expected_probes = build_probes(database)
    host = f"{secrets.token_hex(16)}.localhost"
    settings = Settings(database_url=database, allowed_hosts=(host,), log="off", sql_url=Settings.load().sql_url)
    with _serve_in_thread(settings) as port:
        failures = [
            f"{probe.route}: {failure}" for probe in expected_probes if (failure := _find_failure(probe, port, host))
        ]
    if failures:
        raise InternalError(f"the service fails its check: {'; '.join(failures)}")
    return len(expected_probes)


def build_probes(database: str) -> tuple[Probe, ...]:
    """Return at least one probe per route; expected content is read from the database and the served files.

    A route that would store something or never end its response gets a request that it refuses.

    Raises
    ------
    SchemaOutdatedError
        The database has no tables yet.

    """
    with temporary_engine(database) as engine, read_transaction(engine) as connection:
        slugs = connection.scalars(select(TABLES["cluster"].c.slug).order_by(TABLES["cluster"].c.id)).all()
        first_cluster = read_overview(connection, slugs[0])
    # on PostgreSQL, /sql is refused unless it has a login of its own
    lacks_login = engine.dialect.name == "postgresql" and not Settings.load().sql_url
    ok_body, cluster_rows = _to_json({"status": "ok"}), [{"slug": slug} for slug in slugs]
    document = {"query": f'{{ resolve(address: "{first_cluster.cluster}") {{ address }} }}'}
    sql = {"sql": "SELECT slug FROM cluster ORDER BY id"}
    empty_observation = {"host": "check", "neuron_ls": [], "sysfs": {}}
    file = f"/export/v_cluster.csv?columns=address,chips&cluster={first_cluster.cluster}"
    table = f"address,chips\n{first_cluster.cluster},{first_cluster.chips}\n".encode()
    return (
        Probe(
            "/graphql",
            "/graphql",
            _JSON,
            b'"data":' + _to_json({"resolve": {"address": first_cluster.cluster}}),
            document,
        ),
        Probe("/graphql", "/graphql", "text/html", (_WEB / "graphiql.html").read_bytes()),
        Probe("/", "/", "text/html", (_WEB / "index.html").read_bytes()),
        Probe("/assets", "/assets/index.css", "text/css", (_WEB / "assets" / "index.css").read_bytes()),
        _documentation_probe(),
        Probe("/changes", "/changes?lastEventId=x", _JSON, b"Last-Event-ID", None, HTTPStatus.BAD_REQUEST),
        Probe(
            "/chips/{cluster}", f"/chips/{first_cluster.cluster}", "application/octet-stream", first_cluster.to_bytes()
        ),
        Probe("/fleet/{method}", "/fleet/drift_compared_at", _JSON, b'"result":', {}),
        Probe("/list/{kind}", "/list/cluster", _JSON, _to_json(first_cluster.cluster), {}),
        Probe("/chips/{cluster}/jobs", f"/chips/{first_cluster.cluster}/jobs", _JSON, b'{"jobs":['),
        Probe("/pictures/{name}", f"/pictures/timeline?scope={first_cluster.cluster}", "image/svg+xml", b"<svg "),
        Probe("/reports", "/reports", _JSON, b'"name":"capacity"'),
        Probe("/reports/{name}", "/reports/capacity.json", _JSON, b'"cluster":' + _to_json(first_cluster.cluster)),
        Probe("/sql", "/sql", _JSON, b"TRNINV_SQL_URL", sql, HTTPStatus.BAD_REQUEST)
        if lacks_login
        else Probe("/sql", "/sql", _JSON, b'"rows":' + _to_json(cluster_rows), sql),
        Probe("/cypher", "/cypher", _JSON, b"starts with LOAD", {"cypher": "LOAD"}, HTTPStatus.BAD_REQUEST),
        Probe("/observations", "/observations", _JSON, b"lists no device", empty_observation, HTTPStatus.BAD_REQUEST),
        Probe("/export/{name}", file, "text/csv", table),
        Probe("/mcp", "/mcp", _JSON, *_expected_of_agents()),
        Probe("/enroll", "/enroll", _JSON, b"TRNINV_ENROLL_CERTIFICATES", {}, HTTPStatus.NOT_FOUND),
        Probe("/openapi.json", "/openapi.json", _JSON, b'"openapi":"3.1.0"'),
        Probe("/healthz", "/healthz", _JSON, ok_body),
        Probe("/readyz", "/readyz", _JSON, ok_body),
        Probe("/metrics", "/metrics", "text/plain", b'trninv_requests_total{path="/graphql",status="200"}'),
    )


def _to_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@contextmanager
def _serve_in_thread(settings: Settings) -> Iterator[int]:
    """Run the service in a thread until the block ends, and yield its port."""
    app = import_from_string(APPLICATION_PATH)(settings.database_url, settings)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="warning", ws="none"))
    listener = open_socket(_HOST, 0)
    port = listener.getsockname()[1]

    def serve() -> None:
        with listener:  # closed even if the server fails, so that requests are refused instead of waiting
            server.run(sockets=[listener])

    thread = Thread(target=serve, name="trninv-check")
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join()


def _find_failure(probe: Probe, port: int, host: str) -> str | None:
    """Send a probe and return what is wrong with the response, or None."""
    connection = HTTPConnection(_HOST, port, timeout=_SECONDS)
    method, body = ("GET", None) if probe.body is None else ("POST", _to_json(probe.body))
    try:
        connection.request(method, probe.path, body, {"Host": host, "Accept": probe.media_type, "Content-Type": _JSON})
        response = connection.getresponse()
        content = response.read()
    except (OSError, HTTPException) as error:
        return f"no response ({error!r})"
    finally:
        connection.close()
    media_type = response.headers.get_content_type()
    if response.status != probe.status:
        return f"status {response.status}"
    if media_type != probe.media_type:
        return f"{media_type} instead of {probe.media_type}"
    return None if probe.expected in content else f"a response without {probe.expected[:60]!r}"
