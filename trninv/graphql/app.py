"""The service: GraphQL over HTTP at /graphql, GraphiQL at the same address for a browser, /healthz."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cross_web import HTTPException
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL

import trninv
from trninv.errors import TrninvError
from trninv.graphql.context import Context, Threads
from trninv.graphql.schema import schema
from trninv.inventory.database import reading
from trninv.routing.fleet import Fleet

MAX_BODY = 1_000_000

WEB = Path(trninv.__file__).parent / "web"

_OWN_FILES_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages: no request leaves for another host."""


class _Endpoint(GraphQL[Context, None]):
    def __init__(self, fleet: Fleet) -> None:
        super().__init__(schema(), graphql_ide="graphiql", subscription_protocols=())
        self.fleet = fleet
        self.threads = Threads()

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:  # noqa: ARG002
        return Context(self.fleet, self.threads)

    def decode_json(self, data: str | bytes) -> object:
        try:
            decoded = super().decode_json(data)
        except (ValueError, RecursionError):  # bytes that are no UTF-8 among them
            decoded = None
        if not isinstance(decoded, dict | list):
            raise HTTPException(400, "the body is not a JSON object with a query")
        return decoded

    async def render_graphql_ide(self, request: Request) -> Response:  # noqa: ARG002
        return Response((WEB / "graphiql" / "index.html").read_bytes(), media_type="text/html")


class _Guard:
    """ASGI middleware: bodies of at most MAX_BODY bytes in, the Content-Security-Policy out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def read() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY:
                raise HTTPException(413, f"a request has at most {MAX_BODY:,} bytes")
            return message

        async def write(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = _OWN_FILES_ONLY
            await send(message)

        await self._app(scope, read, write)


def app(url: str | None = None) -> Starlette:
    """The ASGI application over a database (its URL, or the default one)."""
    fleet = trninv.open(url)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        fleet.close()

    def healthz(_request: Request) -> Response:
        try:
            with reading(fleet.engine) as connection:
                connection.execute(text("SELECT count(*) FROM cluster"))
        except (TrninvError, SQLAlchemyError):
            return JSONResponse({"status": "the database does not answer"}, status_code=503)
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/", lambda _request: RedirectResponse("/graphql")),
            Route("/healthz", healthz),
            Route("/graphql", _Endpoint(fleet)),
            Mount("/static", StaticFiles(directory=WEB)),
        ],
        middleware=[Middleware(_Guard)],
        lifespan=lifespan,
    )
