"""A client of the agents' server of a fleet, in this process."""

from typing import Any

from mcp import Client

from trninv.agents.runner import Caller, Runner
from trninv.agents.server import build_server
from trninv.cli.mcp_command import local_sql, print_failure
from trninv.database.tables import TOKEN_SCOPES_ALLOWED
from trninv.graphql.api import Api
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings


def client(fleet: BaseFleet, scope: str = "admin", **options: Any) -> Client:
    settings = Settings(database_url="")
    caller = Caller("", scope, TOKEN_SCOPES_ALLOWED[scope].__contains__)
    runner = Runner(Api(fleet, settings), local_sql(fleet, settings), print_failure)
    return Client(build_server(runner, lambda _: caller), **options)
