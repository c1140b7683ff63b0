"""The service: the explorer at /, /graphql with GraphiQL for a browser, what both are made from, /healthz, /metrics."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from anyio import to_thread
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import trninv
from trninv.errors import (
    DatabaseError,
    ForbiddenError,
    InternalError,
    NotFoundError,
    RequestError,
    TimeLimitError,
    TrninvError,
    UnauthenticatedError,
    UsageError,
)
from trninv.graphql import http
from trninv.graphql.middleware import Guard
from trninv.graphql.service import Request as Asked
from trninv.graphql.service import Service
from trninv.graphql.statements import counted
from trninv.graphql.telemetry import Metrics, count_statements, logger
from trninv.inventory import token
from trninv.inventory.database import reading
from trninv.reports.export import TABLES_AND_VIEWS
from trninv.reports.guard import checked
from trninv.reports.library import Report, report, reports
from trninv.reports.output import as_json, as_text
from trninv.reports.pieces import Pieces
from trninv.reports.reader import find
from trninv.routing.overview import overview
from trninv.settings import Settings

WEB = Path(trninv.__file__).parent / "web"
GZIP_FROM = 1_000
"""Bytes of an answer that is worth compressing."""

_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")

_OPEN = token.Holder("", "admin")
"""Whom a request stands for where no tokens are asked for."""


class _Served:
    """What the routes share."""

    def __init__(self, url: str | None, settings: Settings) -> None:
        self.settings = settings
        self.fleet = trninv.open(url or settings.database_url, seconds=settings.request_seconds)
        self.service = Service(self.fleet, settings)
        self.metrics, self.log = Metrics(), logger(settings.log)
        self.process = secrets.token_hex(8)
        count_statements(self.fleet.engine)

    def note(self, scope: Scope, status: int, seconds: float, reference: str) -> None:
        path = "/" + scope["path"].split("/")[1]
        path = path if path in _PATHS else "other"
        self.metrics.requests.labels(path, str(status)).inc()
        self.metrics.seconds.labels(path).observe(seconds)
        said = {key: value for key, value in scope["state"].items() if key in ("who", "cost", "statements", "code")}
        self.log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=reference,
            **said,
        )

    async def holder(self, request: Request, scope: str) -> token.Holder:
        """Whom a request stands for.

        Raises
        ------
        UnauthenticatedError
            Tokens are asked for, and it has none that is worth anything.
        ForbiddenError
            Its scope does not allow this.

        """
        if self.settings.auth != "tokens":
            return _OPEN
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not given:
            raise UnauthenticatedError("send a token: Authorization: Bearer trninv_…")

        def find() -> token.Holder:
            with reading(self.fleet.engine) as connection:
                return token.holder(connection, given.strip())

        found = await to_thread.run_sync(find, limiter=self.service.threads.reading)
        if not found.may(scope):
            raise ForbiddenError(f"{request.url.path} wants a token of scope {scope}")
        request.state.who = found.name
        return found

    async def graphql(self, request: Request) -> Response:
        graphql = http.accepts_graphql(request.headers)
        if request.method == "GET" and self._wants_page(request):
            return FileResponse(WEB / "graphiql.html")
        if http.unacceptable(request.headers):
            return http.refusal(RequestError(f"take application/json or {http.GRAPHQL}"), 406, graphql=graphql)
        holder = await self.holder(request, "read")
        asked = await http.asked(request)
        etag = None
        if request.method == "GET":
            revision = await to_thread.run_sync(self.fleet.revision, limiter=self.service.threads.reading)
            etag = http.etag_of(asked, revision, self.process, holder.name, graphql=graphql)
            if etag is not None and etag in request.headers.get("if-none-match", ""):
                return Response(status_code=304, headers={"ETag": etag, "Cache-Control": "private, no-cache"})
        seen = counted.set([0])
        try:
            answer = await self.service.run(
                asked,
                reads_only=request.method == "GET",
                who=holder.name,
                scope=holder.scope,
                reference=request.state.request_id,
                while_waited_for=lambda: http.while_waited_for(request),
            )
            request.state.cost, request.state.statements = answer.cost, (counted.get() or [0])[0]
        finally:
            counted.reset(seen)
        self.metrics.cost.observe(answer.cost)
        self.metrics.statements.observe(request.state.statements)
        if answer.code:
            request.state.code = answer.code
            self.metrics.errors.labels(answer.code).inc()
        for failure in answer.failures:
            self.failed(request, failure)
        return http.sent(answer, graphql=graphql, etag=None if answer.code else etag)

    def failed(self, request: Request, failure: BaseException) -> None:
        """Keep what the client is told only the id of."""
        self.log.error("failure", request_id=request.state.request_id, exc_info=failure)

    async def refused(self, request: Request, error: Exception) -> Response:
        """An expected failure outside of a document."""
        assert isinstance(error, TrninvError)
        if isinstance(error, DatabaseError):  # what it says is of the inside
            return await self.broken(request, error)
        request.state.code = error.code
        answer = http.refusal(error, _status(error), graphql=http.accepts_graphql(request.headers))
        if isinstance(error, UnauthenticatedError):
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    async def broken(self, request: Request, error: Exception) -> Response:
        """Any other failure outside of a document."""
        self.failed(request, error)
        request.state.code = InternalError.code
        told = InternalError(f"internal error: see the server's log for request {request.state.request_id}")
        return http.refusal(told, 500)

    def _wants_page(self, request: Request) -> bool:
        asks = "query" in request.query_params or "documentId" in request.query_params
        return self.settings.graphiql and not asks and "text/html" in request.headers.get("accept", "")

    async def reports(self, request: Request) -> Response:
        """The list of reports, or one as JSON, CSV or NDJSON; its parameters are those of the query."""
        await self.holder(request, "read")
        name, _, style = request.path_params.get("name", "").rpartition(".")
        if not name:
            return JSONResponse([_described(each) for each in reports(self.settings.reports).values()])
        wanted = report(name, self.settings.reports)
        sql = wanted.sql(self.fleet.engine.dialect.name, dict(request.query_params))
        return await self._found(sql, style)

    async def sql(self, request: Request) -> Response:
        """One SELECT: {"sql": "…", "format": "json"}."""
        await self.holder(request, "read")
        given = http.json_object(request, await request.body(), '{"sql": "SELECT count(*) FROM v_chip"}')
        if not isinstance(given.get("sql"), str):
            raise RequestError('the request has no sql: send {"sql": "SELECT count(*) FROM v_chip"}')
        return await self._found(checked(given["sql"], self.fleet.engine.dialect.name), given.get("format", "json"))

    async def _found(self, sql: str, style: object) -> Response:
        if style not in _MEDIA:
            raise RequestError(f"the format is one of {', '.join(_MEDIA)}, not {str(style)[:20]!r}")
        find_ = partial(find, self.fleet.engine, sql, seconds=self.settings.request_seconds)
        found = await to_thread.run_sync(find_, limiter=self.service.threads.reading)
        body = as_json(found) if style == "json" else as_text(found, str(style)).encode()
        return Response(body, headers={"X-Truncated": str(found.truncated).lower()}, media_type=_MEDIA[str(style)])

    async def export(self, request: Request) -> Response:
        """A table or view as CSV or NDJSON, as it is read; or some columns of it (columns), or a cluster's part."""
        await self.holder(request, "read")
        name, _, style = request.path_params["name"].rpartition(".")
        if name not in TABLES_AND_VIEWS or style not in ("csv", "ndjson"):
            raise NotFoundError(f"no export {request.path_params['name'][:60]!r}: a table or view with .csv or .ndjson")
        asked = request.query_params
        pieces = Pieces(self.fleet.engine, name, style, asked.get("columns", "*"), asked.get("cluster"))
        await to_thread.run_sync(pieces.open, limiter=self.service.threads.reading)
        return StreamingResponse(pieces, media_type=_MEDIA[style])

    async def explorer(self, _request: Request) -> Response:
        return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})

    async def chips(self, request: Request) -> Response:
        """State and pool of every chip of a cluster, packed; the same as long as the database is."""
        holder = await self.holder(request, "read")
        cluster = request.path_params["cluster"]
        revision = await to_thread.run_sync(self.fleet.revision, limiter=self.service.threads.reading)
        etag = http.etag_of(Asked(cluster), revision, self.process, holder.name, graphql=False)
        headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization"} if etag else {}
        if etag is not None and etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)

        def read() -> bytes:
            with reading(self.fleet.engine) as connection:
                return overview(connection, cluster).packed()

        packed = await to_thread.run_sync(read, limiter=self.service.threads.reading)
        return Response(packed, headers=headers, media_type="application/octet-stream")

    def _cluster_count(self) -> None:
        with reading(self.fleet.engine) as connection:
            connection.execute(text("SELECT count(*) FROM cluster"))

    async def readyz(self, _request: Request) -> Response:
        try:
            await to_thread.run_sync(self._cluster_count, limiter=self.service.threads.reading)
        except (TrninvError, SQLAlchemyError):
            return JSONResponse({"status": "the database does not answer"}, status_code=503)
        return JSONResponse({"status": "ok"})

    async def healthz(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def prometheus(self, request: Request) -> Response:
        await self.holder(request, "read")
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")


_MEDIA = {"json": "application/json", "csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}


def _described(each: Report) -> dict[str, object]:
    parameters = [{"name": of.name, "default": of.default, "says": of.says} for of in each.parameters]
    return {"name": each.name, "title": each.title, "answers": each.answers, "parameters": parameters}


_PATHS = ("/graphql", "/chips", "/sql", "/reports", "/export", "/assets", "/healthz", "/readyz", "/metrics", "/")


def _status(error: TrninvError) -> int:
    known: dict[type[TrninvError], int] = {
        UnauthenticatedError: 401,
        ForbiddenError: 403,
        NotFoundError: 404,
        UsageError: 400,
        TimeLimitError: 503,
    }
    return next((status for kind, status in known.items() if isinstance(error, kind)), 500)


async def _left(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)


def app(url: str | None = None, settings: Settings | None = None) -> Starlette:
    """The ASGI application over a database (its URL, or the default one)."""
    settings = settings or Settings.load()
    served = _Served(url, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        served.fleet.close()

    origins = settings.cors_origins
    hosts = settings.allowed_hosts or (("*",) if settings.auth == "tokens" else _THIS_MACHINE)
    return Starlette(
        routes=[
            Route("/", served.explorer),
            Route("/chips/{cluster}", served.chips),
            Route("/healthz", served.healthz),
            Route("/readyz", served.readyz),
            Route("/metrics", served.prometheus),
            Route("/graphql", served.graphql, methods=["GET", "POST"]),
            Route("/reports", served.reports),
            Route("/reports/{name}", served.reports),
            Route("/sql", served.sql, methods=["POST"]),
            Route("/export/{name}", served.export),
            Mount("/assets", StaticFiles(directory=WEB / "assets")),
        ],
        middleware=[
            Middleware(Guard, note=served.note),
            *(
                [Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["*"])]
                if origins
                else []
            ),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
            Middleware(GZipMiddleware, minimum_size=GZIP_FROM, compresslevel=5),
        ],
        exception_handlers={TrninvError: served.refused, ClientDisconnect: _left, Exception: served.broken},
        lifespan=lifespan,
    )
