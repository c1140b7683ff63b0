"""copy: all of one database into another."""

import click

from trninv.cli.progress import Progress
from trninv.inventory import migrate
from trninv.inventory.database import connect, display, reading, writing
from trninv.inventory.transfer import transfer


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
    with connect(source) as ours, connect(target) as theirs:
        with reading(ours):
            pass  # fail before TO is made
        migrate.make(theirs)
        with reading(ours) as found, writing(theirs) as made, Progress("copy") as progress:
            rows = transfer(found, made, progress, replace=replace)
    click.echo(f"copied {rows:,} rows to {display(target)}: all are the same there")
