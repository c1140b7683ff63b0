"""Serve /mcp: the Model Context Protocol over streamable HTTP, for AI agents.

Each request stands for itself, so that any worker or instance of the service can answer it.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from anyio import Lock, create_task_group, sleep_forever, to_thread
from anyio.abc import TaskStatus
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp

from trninv.agents.runner import Caller, Runner
from trninv.agents.sql_rows import select_rows
from trninv.errors import NotFoundError, how_to_install
from trninv.routing.fleet import BaseFleet
from trninv.service.authentication import authenticate
from trninv.service.services import Services

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_CALLER = "mcp_caller"
"""Key of the caller in the state of a request."""


class AgentServer:
    """Answers MCP requests; starts when it gets the first one, because the package mcp takes 35 MB of memory."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._manager: StreamableHTTPSessionManager | None = None
        self._starting = Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests until the end of the context."""
        async with create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def serve(self, request: Request) -> ASGIApp:
        """Return the application that answers an authenticated request."""
        principal = await authenticate(request, "read")
        async with self._starting:
            manager = self._manager or await self._tasks.start(self._run)
        request.scope["state"][_CALLER] = Caller(
            principal.name, principal.scope, principal.allows, request.state.request_id
        )
        handle_request: ASGIApp = manager.handle_request
        return handle_request

    async def _run(self, *, task_status: TaskStatus["StreamableHTTPSessionManager"]) -> None:
        manager = await to_thread.run_sync(self._build_manager)
        async with manager.run():
            self._manager = manager
            task_status.started(manager)
            await sleep_forever()

    def _build_manager(self) -> "StreamableHTTPSessionManager":
        try:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 # optional

            from trninv.agents.server import build_server  # noqa: PLC0415
        except ImportError:
            raise NotFoundError(f"this service answers no agents: {how_to_install('mcp')} and restart it") from None
        services = self._services
        is_on_postgresql = services.fleet.engine.dialect.name == "postgresql"
        run_sql = self._run_sql if services.readers.logins or not is_on_postgresql else None
        server = build_server(Runner(services.api, run_sql, services.log_failure), _find_caller)
        return StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    async def _run_sql(self, sql: str, as_of: str | None) -> Mapping[str, Any]:
        services = self._services

        def read(fleet: BaseFleet) -> Mapping[str, Any]:
            return select_rows(fleet, sql, as_of, services.settings, services.readers.logins.get(fleet.engine))

        return await services.read(services.readers.read, read)


def _find_caller(context: Any) -> Caller:  # Any: mcp's context, whose module is optional
    caller: Caller = context.request.scope["state"][_CALLER]
    return caller


async def serve_mcp(request: Request) -> ASGIApp:
    """Answer one message of an agent."""
    server: AgentServer = request.app.state.agents
    return await server.serve(request)


ROUTES = [Route("/mcp", serve_mcp, methods=["POST"])]
