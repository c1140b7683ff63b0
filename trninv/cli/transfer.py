"""Copy one database into another (`copy`)."""

import click

from trninv.cli.progress import Progress
from trninv.inventory import migrate
from trninv.inventory.database import read_transaction, redacted_url, temporary_engine, write_transaction
from trninv.inventory.transfer import copy_database


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--replace", is_flag=True, help="Remove what TO holds first.")
def copy(source: str, target: str, replace: bool) -> None:
    """Copy everything from one database to another: catalog, clusters, states, events and tokens.

    FROM and TO are URLs, of SQLite or PostgreSQL. TO gets its tables if it has none. All rows are written in one
    transaction and compared with FROM's, row for row, before it ends; what is interrupted leaves TO as it was.

    \b
    trninv copy sqlite:///fleet.db postgresql://trninv@db/fleet
    trninv copy postgresql://trninv@db/fleet sqlite:///fleet.db --replace
    """
    with temporary_engine(source) as source_engine, temporary_engine(target) as target_engine:
        with read_transaction(source_engine):
            pass  # fail before TO is made
        migrate.create_tables_if_missing(target_engine)
        with (
            read_transaction(source_engine) as source_connection,
            write_transaction(target_engine) as target_connection,
            Progress("copy") as progress,
        ):
            rows = copy_database(source_connection, target_connection, progress, replace=replace)
    click.echo(f"copied {rows:,} rows to {redacted_url(target)}: all are the same there")
