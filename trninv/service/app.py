"""The ASGI application: a file of routes for each thing that is served, and what every request passes through."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware

from trninv.errors import TrninvError
from trninv.service import changes, chips, explorer, export, failures, graphql, health, observations, reports, sql
from trninv.service.arrival import Arrival
from trninv.service.middleware import Guard, Hosts, Texts
from trninv.service.shared import Shared
from trninv.settings import Settings

GZIP_FROM = 1_000
"""Bytes of an answer that is worth compressing."""

_SERVED = (graphql, explorer, changes, chips, health, reports, sql, export, observations)
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


def app(url: str | None = None, settings: Settings | None = None) -> Starlette:
    """The application over a database (its URL, or the default one)."""
    settings = settings or Settings.load()
    shared = Shared(url, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        shared.news.end()
        shared.close()

    made = Starlette(
        routes=[route for of in _SERVED for route in of.ROUTES],
        middleware=[Middleware(Guard, note=shared.note), *_middleware(settings)],
        exception_handlers={
            TrninvError: failures.refused,
            HTTPException: failures.not_served,
            Exception: failures.broken,
        },
        lifespan=lifespan,
    )
    made.state.shared = shared
    return made


def _middleware(settings: Settings) -> list[Middleware]:
    hosts = settings.allowed_hosts or (("*",) if settings.auth == "tokens" else _THIS_MACHINE)
    origins = settings.cors_origins
    cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["*"])
    return [
        Middleware(Arrival, seconds=settings.request_seconds),
        *([cors] if origins else []),
        Middleware(Hosts, names=hosts),
        Middleware(Texts),
        Middleware(GZipMiddleware, minimum_size=GZIP_FROM, compresslevel=5),
    ]
