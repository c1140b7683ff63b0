"""Build the Starlette application: routes, middleware and error handlers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware

from trninv.errors import TrninvError
from trninv.service import (
    chips,
    error_responses,
    event_stream,
    explorer,
    export,
    graphql,
    health,
    observations,
    reports,
    sql,
)
from trninv.service.middleware import (
    AccessLogMiddleware,
    AllowedHostsMiddleware,
    PathCharactersMiddleware,
    RequestBodyMiddleware,
)
from trninv.service.services import Services
from trninv.settings import Settings

GZIP_MIN_SIZE = 1_000
"""Bytes from which a response is compressed."""

ROUTE_MODULES = (graphql, explorer, event_stream, chips, health, reports, sql, export, observations)
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


def create_app(url: str | None = None, settings: Settings | None = None) -> Starlette:
    """Create the application for a database URL, or for the settings' database."""
    settings = settings or Settings.load()
    services = Services(url, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        services.broadcaster.close()
        services.close()

    application = Starlette(
        routes=[route for module in ROUTE_MODULES for route in module.ROUTES],
        middleware=[Middleware(AccessLogMiddleware, note=services.log_request), *_build_middleware(settings)],
        exception_handlers={
            TrninvError: error_responses.expected_error_response,
            HTTPException: error_responses.not_found_response,
            Exception: error_responses.internal_error_response,
        },
        lifespan=lifespan,
    )
    application.state.shared = services
    return application


def _build_middleware(settings: Settings) -> list[Middleware]:
    hosts = settings.allowed_hosts or (("*",) if settings.auth == "tokens" else LOOPBACK_HOSTS)
    origins = settings.cors_origins
    cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["*"])
    return [
        Middleware(RequestBodyMiddleware, seconds=settings.request_seconds),
        *([cors] if origins else []),
        Middleware(AllowedHostsMiddleware, names=hosts),
        Middleware(PathCharactersMiddleware),
        Middleware(GZipMiddleware, minimum_size=GZIP_MIN_SIZE, compresslevel=5),
    ]
