"""Show the database and its contents (`status`), with few imports, so that it starts quickly."""

import shlex
from collections.abc import Sequence
from typing import Final

import click
from sqlalchemy import Connection, func, select

from trninv.cli.database_connection import open_fleet
from trninv.cli.messages import format_unapplied, print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import read_transaction, redacted_url, temporary_engine
from trninv.database.tables import TABLES
from trninv.errors import SchemaOutdatedError
from trninv.incidents.unapplied_findings import list_unapplied_findings
from trninv.inventory.address.lookup import NO_CLUSTER_MESSAGE
from trninv.inventory.database_contents import list_clusters
from trninv.settings import is_service
from trninv.units import pluralize

_MAX_CLUSTERS: Final = 5
"""The maximum number of clusters of an overview."""
_HELP: Final = {"help": "all commands"}
_FIRST_STEPS: Final = {"seed": "load documented systems", "docs adopt-a-fleet": "how to add your own machines"}
_STEPS: Final = {"incidents": "unhealthy parts by root cause"}
"""Arguments of commands that an overview names, with their purposes."""


@click.command()
@format_option
@click.pass_obj
def status(database: str, style: str) -> None:
    """Show the database, its schema version, clusters and rows.

    If targets are pulled by trninv discover, also show when each was last read, whether it is late, and which clusters
    it reports about.

    \b
    trninv status --format json
    """
    with open_fleet(database) as fleet, Progress("status"):
        contents = fleet.contents()
        unapplied = fleet.unapplied_findings()
    target = {"service": database} if is_service(database) else {"database": redacted_url(database)}

    def table() -> None:
        for name, value in {**target, "schema version": contents.schema_version}.items():
            click.echo(f"{name}: {value}")
        click.echo(f"sealed: {contents.sealed or 'no events yet'}")
        print_table(
            ["cluster", "system", "domains", "chips"],
            map(_cluster_cells, contents.clusters),
            empty_text=NO_CLUSTER_MESSAGE,
        )
        if unapplied:
            print_wrapped(f"\n{format_unapplied(unapplied)}")
        if contents.discoveries:
            click.echo()
            columns = ["target", "last read", "every", "state", "clusters"]
            keys = ("target", "read_at", "every_seconds", "state", "clusters")
            print_table(columns, (list(map(row.get, keys)) for row in contents.discoveries))
        click.echo()
        print_table(["table", "rows"], ([name, f"{size:,}"] for name, size in contents.rows.items()))

    # both are equal, since a database of another schema version is refused
    versions = {"revision": contents.schema_version, "newest": contents.schema_version}
    print_value(
        style,
        {
            **target,
            **versions,
            "sealed": contents.sealed,
            "clusters": contents.clusters,
            "discoveries": contents.discoveries,
            "unappliedFindings": len(unapplied),
            "rows": contents.rows,
        },
        table,
    )


def print_overview(target: str, options: Sequence[str]) -> None:
    """Print what a database holds, or which service is asked, and what to run next, with the options that chose it."""
    program = shlex.join(["trninv", *options])
    if is_service(target):
        lines, steps = [f"service: {target}"], {"status": "whether it answers, and what it holds"} | _STEPS | _HELP
    else:
        lines, steps = _read_overview(target)
        lines.insert(0, f"database: {redacted_url(target)}")
    click.echo("\n".join([*lines, ""]))
    width = max(map(len, steps))
    for step, purpose in steps.items():
        click.echo(f"{program} {step:{width}}  # {purpose}")


def _read_overview(database: str) -> tuple[list[str], dict[str, str]]:
    """Return what a database holds, in lines, and the arguments of the commands to run next with their purposes."""
    try:
        with temporary_engine(database) as engine, read_transaction(engine) as connection:
            clusters, count = list_clusters(connection), TABLES["part_count"]
            query = select(count.c.state, func.sum(count.c.number)).where(count.c.kind == "chip")
            states = connection.execute(query.group_by(count.c.state).order_by(count.c.state)).all()
            unapplied = list_unapplied_findings(connection)
            has_machines = not clusters and not is_table_empty(connection, "observed_server")
    except SchemaOutdatedError as error:
        is_older = "run trninv migrate" in str(error)  # else this trninv is
        return [str(error)], {"migrate": "create the tables, or bring them up to date"} | _HELP if is_older else _HELP
    if not clusters:
        adopt = {"adopt prod": "make a cluster of the imported machines"} if has_machines else {}
        return ["no cluster yet"], adopt | _FIRST_STEPS | _HELP
    lines = [
        f"{row['slug']}: {row['system']}, {pluralize(row['domains'], 'domain')}, {pluralize(row['chips'], 'chip')}"
        for row in clusters[:_MAX_CLUSTERS]
    ]
    if len(clusters) > _MAX_CLUSTERS:
        lines.append(f"{len(clusters) - _MAX_CLUSTERS:,} more clusters (trninv status)")
    lines.append(f"chips: {', '.join(f'{number:,} {state}' for state, number in states if number)}")
    if unapplied:
        lines.append(format_unapplied(unapplied))
    return lines, _STEPS | {f"show {clusters[0]['slug']}/d0": "its parts and links"} | _HELP


def is_table_empty(connection: Connection, table: str) -> bool:
    """Return whether a table has no rows."""
    return connection.scalar(select(TABLES[table]).limit(1)) is None


def _cluster_cells(row: dict[str, object]) -> list[object]:
    return [f"{cell:,}" if isinstance(cell, int) else cell for cell in row.values()]
