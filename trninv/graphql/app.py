"""The service: GraphQL over HTTP at /graphql, GraphiQL at the same address for a browser, /healthz."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import CapacityLimiter
from cross_web import HTTPException
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL

import trninv
from trninv.errors import TrninvError
from trninv.graphql.context import MAX_THREADS, Context
from trninv.graphql.schema import schema
from trninv.inventory.database import reading
from trninv.routing.fleet import Fleet

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
        self.limiter = CapacityLimiter(MAX_THREADS)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:  # noqa: ARG002
        return Context(self.fleet, self.limiter)

    def decode_json(self, data: str | bytes) -> object:
        try:
            decoded = super().decode_json(data)
        except ValueError:  # bytes that are no UTF-8 among them
            decoded = None
        if not isinstance(decoded, dict | list):
            raise HTTPException(400, "the body is not a JSON object with a query")
        return decoded

    async def render_graphql_ide(self, request: Request) -> Response:  # noqa: ARG002
        page = (WEB / "graphiql" / "index.html").read_bytes()
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": _OWN_FILES_ONLY})


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
        lifespan=lifespan,
    )
