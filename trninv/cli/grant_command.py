"""Grant PostgreSQL's roles what they need (`grant`)."""

from collections.abc import Sequence

import click

from trninv.cli.messages import print_wrapped
from trninv.database.engine import read_transaction, redacted_url, temporary_engine, translate_statement_errors
from trninv.database.stored_changes import STORED
from trninv.errors import UsageError
from trninv.reports import grants


@click.command()
@click.pass_obj
def grant(database: str) -> None:
    """Let PostgreSQL's roles use the tables.

    trninv_read may read, but no tokens; trninv_service may change rows; trninv_collector may store observations. Run
    this as the owner of the tables; it creates the roles that are missing, if the owner may, and can be repeated.
    trninv migrate does the same for the roles that exist. What only an administrator may run is printed, and the exit
    status is 1.

    \b
    trninv --database postgresql://owner@db/fleet grant
    """
    with temporary_engine(database) as engine:
        if engine.dialect.name != "postgresql":
            raise UsageError("an SQLite file has no roles; use the permissions of the file")
        with read_transaction(engine, exact=True):  # fails if the tables are missing or old
            pass
        with translate_statement_errors(engine), engine.connect() as connection:
            refused = grants.grant(connection)
            with STORED.storing():
                connection.commit()
    if refused:
        print_refused(refused)
        raise click.exceptions.Exit(1)
    click.echo(f"{redacted_url(database)}: {', '.join(role.name for role in grants.ROLES)} have what they need")


def print_refused(statements: Sequence[str]) -> None:
    """Print the statements that an administrator has to run."""
    lines = "\n".join(f"  {statement}" for statement in statements)
    print_wrapped(f"an administrator runs these, and then you run trninv grant again:\n{lines}", err=True)
