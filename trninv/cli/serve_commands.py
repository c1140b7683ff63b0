"""Serve the API and the explorer, run one GraphQL query, and print the schema (`serve`, `query`, `schema`)."""

import asyncio
import ipaddress
import json
import os
import resource
import socket
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import click
import uvicorn
from uvicorn.importer import import_from_string
from uvicorn.supervisors import Multiprocess

import trninv
from trninv.cli.background_process import background_processes
from trninv.cli.check_command import read_checks
from trninv.cli.command_index import no_garbage_collection
from trninv.cli.database_connection import at_option
from trninv.cli.discover_command import check_targets
from trninv.cli.output import json_text, read_argument
from trninv.cli.progress_line import Progress
from trninv.cli.webhook_commands import read_receivers
from trninv.database.engine import read_transaction, redacted_url, temporary_engine
from trninv.errors import UsageError
from trninv.graphql import graphql_schema
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.settings import Settings, is_service

APPLICATION_PATH = "trninv.service.application:create_app"
"""The function that creates the application, for uvicorn."""
WORKERS_PATH = "trninv.service.worker_processes:WorkerProcesses"
"""The class that runs several server processes."""
PROTOCOL_PATH = "trninv.service.connection_limits:TimeoutProtocol"
"""The HTTP protocol class, for uvicorn."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port to listen on.")
@click.option(
    "--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Number of server processes."
)
@click.option("--allow-unauthenticated", is_flag=True, help="Accept requests from other machines without tokens.")
@click.pass_obj
def serve(database: str, host: str, port: int, workers: int = 1, allow_unauthenticated: bool = False) -> None:
    """Serve the explorer and the GraphQL API.

    GraphiQL is at /graphql. If you set TRNINV_AUTH=tokens, every request needs a bearer token (trninv token create).
    If you set TRNINV_DISCOVER, such as to aws:us-east-2, it also pulls these targets (trninv discover). If you set
    TRNINV_CHECKS to a file of checks, it evaluates them after each change (trninv check). If you set TRNINV_WEBHOOKS to
    a file of receivers, it sends them what happens (trninv webhooks).

    \b
    trninv serve --port 8080
    """
    settings = Settings.load()
    if settings.auth != "tokens" and not allow_unauthenticated and not _is_loopback(host):
        raise UsageError(
            f"--host {host} accepts requests from other machines without tokens: set TRNINV_AUTH=tokens and run "
            "trninv token create, or add --allow-unauthenticated"
        )
    _check_settings(settings)
    with temporary_engine(database) as engine, read_transaction(engine):
        pass  # fail here with one line instead of in every request
    os.environ["TRNINV_DATABASE_URL"] = database  # worker processes and those beside the service read it
    os.environ.pop("TRNINV_SERVICE", None)  # they would refuse both
    if allow_unauthenticated:
        os.environ.setdefault("TRNINV_ALLOWED_HOSTS", "*")
    config = uvicorn.Config(
        APPLICATION_PATH,
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level="warning",
        ws="none",
        http=PROTOCOL_PATH,
        proxy_headers=False,  # the application does it, because it also needs the address of the proxy itself
    )
    _raise_file_limit()
    try:
        _serve(config, settings, redacted_url(database))
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        raise click.exceptions.Exit(130) from None


def _serve(config: uvicorn.Config, settings: Settings, database: str) -> None:
    host, port = config.host, config.port
    with ExitStack() as stack:
        listener = stack.enter_context(open_socket(host, port))
        message = f"explorer on http://{host}:{port}, GraphQL and GraphiQL on /graphql, database {database}"
        click.echo(message, err=True)
        stack.enter_context(background_processes(settings))
        if config.workers > 1:
            _run_workers(config, listener)
        else:
            with no_garbage_collection():
                config.load()
            uvicorn.Server(config).run(sockets=[listener])


def _check_settings(settings: Settings) -> None:
    """Refuse what a process beside the service would refuse.

    Raises
    ------
    UsageError
        A setting or a file that it names is wrong.

    """
    check_targets(settings.discover, settings.discover_every)
    if settings.checks:
        read_checks(str(settings.checks))
    if settings.webhooks:
        read_receivers(settings)


def _run_workers(config: uvicorn.Config, listener: socket.socket) -> None:
    """Import all that workers share, and run them."""
    if not hasattr(os, "fork"):
        Multiprocess(config, sockets=[listener]).run()
        return
    with no_garbage_collection():
        import_from_string(APPLICATION_PATH)
        graphql_schema.schema()
        workers = import_from_string(WORKERS_PATH)(config, listener)
    workers.run()


def _raise_file_limit() -> None:
    """Allow as many open files as the system permits, since each connection is one and 1,024 is a usual default."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS permits fewer than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket, so that a port in use is reported before the service is announced.

    TCP_NODELAY is set here, as asyncio sets it only on sockets with an explicit protocol, which
    `socket.create_server` does not give. Without it, the second packet of a response waits for the client's delayed
    acknowledgement.

    Parameters
    ----------
    host
        A host name, or an IPv4 or IPv6 address.
    port
        0 chooses any free port.

    Raises
    ------
    UsageError
        The address or the port is not available.

    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(f"can't listen on {host}:{port}: {error.strerror} (choose another --port)") from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@click.command()
def schema() -> None:
    """Print the GraphQL schema.

    \b
    trninv schema > schema.graphql
    """
    click.echo(graphql_schema.schema().as_str())


@click.command()
@click.argument("document")
@click.option(
    "--variables", default="{}", show_default=True, metavar="JSON", help="Values of the document's variables."
)
@at_option
@click.pass_obj
def query(database: str, document: str, variables: str, as_of: str | None) -> None:
    """Run a GraphQL document.

    Without --service, this needs no running service. - reads DOCUMENT from stdin.

    \b
    trninv query '{ clusters { nodes { slug } } }'
    """
    try:
        values = json.loads(variables)
    except json.JSONDecodeError as error:
        raise UsageError(f"--variables is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise UsageError('--variables is not a JSON object, such as {"a": "u-trn2x64/d0"}')
    source = read_argument(document)
    if not source.strip():
        raise UsageError("the document is empty; write a GraphQL query such as '{ clusters { nodes { slug } } }'")
    if is_service(database):
        with trninv.connect(database) as service, Progress("query"):
            result = (service if as_of is None else service.at(as_of)).graphql(source, values)
    else:
        result = _run_document(database, Request(source, values, as_of=as_of))
    click.echo(json_text(result))
    if "errors" in result:
        raise click.exceptions.Exit(1)


def _run_document(database: str, request: Request) -> dict[str, Any]:
    """Run a GraphQL request against a database, and return the response."""
    with trninv.open(database) as fleet:
        with read_transaction(fleet.engine):
            pass  # fail here with one line instead of in each field
        settings = replace(Settings.load(), database_url=database)
        with Progress("query"):
            answer = asyncio.run(Api(fleet, settings).run(request))
    for failure in answer.failures:
        raise failure
    response: dict[str, Any] = json.loads(answer.body)
    return response
