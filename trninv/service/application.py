"""Build the Starlette application that `trninv serve` runs: routes, middleware and error handlers."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import create_task_group
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware

from trninv.errors import TrninvError
from trninv.garbage_collection import limited_full_collections
from trninv.service import (
    chips,
    cypher,
    documentation,
    enrollment,
    error_responses,
    event_stream,
    explorer,
    export,
    fleet_methods,
    graphql,
    health,
    lists,
    mcp,
    observations,
    openapi,
    pictures,
    reports,
    sql,
)
from trninv.service.direct_answers import DirectAnswers
from trninv.service.middleware import (
    AccessLogMiddleware,
    AllowedHostsMiddleware,
    CrossSiteMiddleware,
    PathCharactersMiddleware,
    PeerAddressMiddleware,
    RequestBodyMiddleware,
)
from trninv.service.paced_posts import PacedPostsMiddleware
from trninv.service.services import Services
from trninv.settings import Settings

GZIP_MIN_SIZE = 1_000
"""Minimum size, in bytes, of a response that is compressed."""
GZIP_LEVEL = 5
"""Compression level of responses, from 1 (fast) to 9 (small)."""

_SWITCH_SECONDS = 0.0001
"""How long one thread may keep the interpreter from others. Python's 5 ms, several times in an answer, would make it
late while another thread is busy, for example with storing observations."""
ROUTE_MODULES = (
    graphql,
    fleet_methods,
    explorer,
    documentation,
    event_stream,
    chips,
    pictures,
    health,
    reports,
    lists,
    sql,
    cypher,
    export,
    observations,
    enrollment,
    mcp,
    openapi,
)
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Hosts that requests may name if tokens are off and TRNINV_ALLOWED_HOSTS is not set."""


def create_app(url: str | None = None, settings: Settings | None = None) -> Starlette:
    """Create the application for a database URL, or for the settings' database."""
    settings = settings or Settings.load()
    services = Services(url, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        sys.setswitchinterval(_SWITCH_SECONDS)
        with limited_full_collections():
            async with application.state.agents.running(), create_task_group() as tasks:
                tasks.start_soon(services.resume_sweeps)
                tasks.start_soon(services.store_token_uses)
                tasks.start_soon(services.observations.run)
                yield
                tasks.cancel_scope.cancel()
        services.broadcaster.close()
        services.close()

    application = Starlette(
        routes=[route for module in ROUTE_MODULES for route in module.ROUTES],
        middleware=_build_middleware(services, settings),
        exception_handlers={
            TrninvError: error_responses.expected_error_response,
            HTTPException: error_responses.not_found_response,
            Exception: error_responses.internal_error_response,
        },
        lifespan=lifespan,
    )
    application.state.shared, application.state.agents = services, mcp.AgentServer(services)
    return application


def _build_middleware(services: Services, settings: Settings) -> list[Middleware]:
    hosts = settings.allowed_hosts or (("*",) if settings.auth == "tokens" else LOOPBACK_HOSTS)
    origins = settings.cors_origins
    methods = ["GET", "POST"]
    cors = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=methods, allow_headers=["*"])
    cors_if_on = [cors] if origins else []
    direct = DirectAnswers(services, hosts, cors_if_on, gzip_min_size=GZIP_MIN_SIZE, gzip_level=GZIP_LEVEL)
    return [
        Middleware(PacedPostsMiddleware, path=observations.ROUTE.path),
        Middleware(PeerAddressMiddleware),
        Middleware(AccessLogMiddleware, log_request=services.log_request),
        Middleware(RequestBodyMiddleware, seconds=settings.request_seconds, respond_directly=direct.respond),
        *cors_if_on,
        Middleware(AllowedHostsMiddleware, names=hosts),
        Middleware(CrossSiteMiddleware, origins=origins),
        Middleware(PathCharactersMiddleware),
        Middleware(GZipMiddleware, minimum_size=GZIP_MIN_SIZE, compresslevel=GZIP_LEVEL),
    ]


if __name__ == "__main__":
    import json

    routes = [route for module in ROUTE_MODULES for route in module.ROUTES]
    print(json.dumps(openapi.describe_routes(routes), indent=2))  # noqa: T201 # the output of this command
