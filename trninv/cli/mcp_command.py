"""Answer an AI agent over standard input and output (`mcp`)."""

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

import trninv
from trninv.agents.runner import Caller, Runner, RunSql
from trninv.agents.sql_rows import select_rows
from trninv.database.engine import read_transaction
from trninv.database.tables import TOKEN_SCOPES_ALLOWED
from trninv.errors import UsageError, how_to_install
from trninv.graphql.api import Api
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings


@click.command()
@click.option(
    "--scope",
    type=click.Choice(["read", "sql", "operate", "admin"]),
    default="sql",
    show_default=True,
    help="What the agent may do, as with a token of this scope; operate and admin offer changes.",
)
@click.pass_obj
def mcp(database: str, scope: str) -> None:
    """Answer an AI agent over the Model Context Protocol.

    An agent's program starts this command and talks to it over standard input and output. The service offers the same
    at /mcp. Needs the extra mcp (trninv docs deploy, Extras).

    \b
    trninv mcp --scope read
    """
    try:
        from mcp.server.stdio import stdio_server  # noqa: PLC0415 # an optional dependency

        from trninv.agents.server import build_server  # noqa: PLC0415
    except ImportError:
        raise UsageError(f"trninv mcp needs the package mcp: {how_to_install('mcp')}") from None

    settings = replace(Settings.load(), database_url=database)
    with trninv.open(database) as fleet:
        with read_transaction(fleet.engine):
            pass  # fail here with one line instead of in each call
        runner = Runner(Api(fleet, settings), local_sql(fleet, settings), print_failure)
        caller = Caller("", scope, TOKEN_SCOPES_ALLOWED[scope].__contains__)
        server = build_server(runner, lambda _: caller)

        async def serve() -> None:
            async with stdio_server() as (receiving, sending):
                await server.run(receiving, sending, server.create_initialization_options())

        asyncio.run(serve())


def local_sql(fleet: BaseFleet, settings: Settings) -> RunSql:
    """Return the function that runs the tool `sql` on a fleet, in a thread."""

    async def run(sql: str, as_of: str | None) -> Mapping[str, Any]:
        return await asyncio.to_thread(select_rows, fleet, sql, as_of, settings)

    return run


def print_failure(_: str, failure: BaseException) -> None:
    """Print an internal error on stderr; the agent is only told that there was one."""
    traceback.print_exception(failure)
