"""Migrate and copy databases."""

import click

from trninv.cli.progress_line import Progress
from trninv.database import migration
from trninv.database import migration as migrations
from trninv.database.engine import read_transaction, redacted_url, temporary_engine, write_transaction
from trninv.errors import UsageError
from trninv.inventory.transfer import copy_database
from trninv.inventory.triggers import registry
from trninv.reports import views
from trninv.reports.postgresql_reader import make_login
from trninv.settings import Settings


@click.command()
@click.option(
    "--to",
    default="head",
    show_default=True,
    metavar="REV",
    help="Schema version to migrate to; base removes all tables.",
)
@click.option("--check", is_flag=True, help="Only check that the database matches the schema; exit 1 if not.")
@click.option("--sql", is_flag=True, help="Print the DDL instead of running it.")
@click.option("--yes", is_flag=True, help="Migrate to an older version even if that loses data.")
@click.pass_obj
def migrate(database: str, to: str, check: bool, sql: bool, yes: bool) -> None:
    """Migrate the database to the newest schema version, or to --to.

    \b
    trninv migrate
    trninv --database postgresql://localhost/fleet migrate
    """
    if check and (sql or to != "head"):
        raise UsageError("--check compares the database with the newest schema; omit --to and --sql")
    with temporary_engine(database) as engine:
        if sql:
            click.echo(migrations.upgrade_sql(engine, to))
        elif check:
            with read_transaction(engine) as connection, Progress("migrate --check"):
                problem = (
                    migrations.schema_differences(engine) or views.check_views(connection) or registry.check(connection)
                )
            click.echo(problem or "the schema is up to date")
            if problem:
                raise click.exceptions.Exit(1)
        else:
            if not yes and (lost_data := migrations.data_loss(engine, to)):
                raise UsageError(
                    f"migrating to schema version {to} would lose {', '.join(lost_data)}: back it up and add --yes"
                )
            with Progress("migrate") as progress:
                migrations.migrate(engine, to, progress)
            if engine.dialect.name == "postgresql" and (login := Settings.load().sql_url):
                make_login(engine, login)
            with engine.connect() as connection:
                click.echo(
                    f"{redacted_url(database)} is at schema version {migrations.schema_version(connection) or 'base'}"
                )


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--replace", is_flag=True, help="Delete the rows of TO first.")
def copy(source: str, target: str, replace: bool) -> None:
    """Copy everything from one database to another.

    That includes the catalog, clusters, states, events and tokens. FROM and TO are URLs of SQLite or PostgreSQL. TO
    gets its tables if it has none. All rows are written in one transaction and compared with those of FROM before it
    is committed; an interrupted copy leaves TO unchanged.

    \b
    trninv copy sqlite:///fleet.db postgresql://trninv@db/fleet
    trninv copy postgresql://trninv@db/fleet sqlite:///fleet.db --replace
    """
    with temporary_engine(source) as source_engine, temporary_engine(target) as target_engine:
        with read_transaction(source_engine):
            pass  # fail before TO is made
        migration.create_tables_if_missing(target_engine)
        with (
            read_transaction(source_engine) as source_connection,
            write_transaction(target_engine) as target_connection,
            Progress("copy") as progress,
        ):
            rows = copy_database(source_connection, target_connection, progress, replace=replace)
    click.echo(f"copied {rows:,} rows to {redacted_url(target)}: all rows are identical")
