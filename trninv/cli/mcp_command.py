"""Answer an AI agent over standard input and output (`mcp`)."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import click

import trninv
from trninv.agents.runner import Caller, Runner, RunSql
from trninv.database.engine import read_transaction
from trninv.database.tables import TOKEN_SCOPES_ALLOWED
from trninv.errors import UsageError
from trninv.graphql.api import Api
from trninv.reports.query_compiler import compile_query
from trninv.reports.query_runner import run_query
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
    at /mcp. Needs pip install 'trninv[mcp]'.

    \b
    trninv mcp --scope read
    """
    try:
        from mcp.server.stdio import stdio_server  # noqa: PLC0415 # an optional dependency

        from trninv.agents.server import build_server  # noqa: PLC0415
    except ImportError:
        raise UsageError("trninv mcp needs the package mcp: pip install 'trninv[mcp]'") from None

    settings = replace(Settings.load(), database_url=database)
    with trninv.open(database) as fleet:
        with read_transaction(fleet.engine):
            pass  # fail here with one line instead of in each call
        runner = Runner(Api(fleet, settings), local_sql(fleet, settings))
        caller = Caller("", scope, TOKEN_SCOPES_ALLOWED[scope].__contains__)
        server = build_server(runner, lambda _: caller)

        async def serve() -> None:
            async with stdio_server() as (receiving, sending):
                await server.run(receiving, sending, server.create_initialization_options())

        asyncio.run(serve())


def local_sql(fleet: BaseFleet, settings: Settings) -> RunSql:
    """Return the function that runs the tool `sql` on a fleet."""

    def run(sql: str, as_of: str | None) -> Mapping[str, Any]:
        earlier_fleet = fleet if as_of is None else fleet.at(as_of)
        with closing(earlier_fleet.shared_snapshot()) as snapshot:
            compiled = compile_query(sql, snapshot.engine.dialect.name)
            result = run_query(snapshot, compiled, seconds=settings.request_seconds, max_bytes=settings.answer_bytes)
        return {"columns": result.columns, "rows": result.records(), "truncated": result.truncated}

    async def run_in_thread(sql: str, as_of: str | None) -> Mapping[str, Any]:
        return await asyncio.to_thread(run, sql, as_of)

    return run_in_thread
