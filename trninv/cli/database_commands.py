"""Migrate and copy databases."""

import click
from sqlalchemy import Engine

from trninv.cli.grant_command import print_refused
from trninv.cli.messages import print_wrapped
from trninv.cli.progress_line import Progress
from trninv.database import migration
from trninv.database.engine import (
    read_transaction,
    redacted_url,
    temporary_engine,
    translate_statement_errors,
    write_transaction,
)
from trninv.errors import UsageError
from trninv.inventory.transfer import copy_database
from trninv.inventory.triggers import registry
from trninv.reports import grants, views
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
@click.option(
    "--check", is_flag=True, help="Only check that the database matches the schema; exit with 1 if it does not."
)
@click.option("--sql", is_flag=True, help="Print the DDL instead of running it.")
@click.option("--yes", is_flag=True, help="Migrate to an older version even if that loses data.")
@click.pass_obj
def migrate(database: str, to: str, check: bool, sql: bool, yes: bool) -> None:
    """Migrate the database to the newest schema version, or to the one in --to.

    \b
    trninv migrate
    trninv --database postgresql://localhost/fleet migrate
    """
    if check and (sql or to != "head"):
        raise UsageError("--check compares the database with the newest schema; omit --to and --sql")
    with temporary_engine(database) as engine:
        if sql:
            click.echo(migration.upgrade_sql(engine, to))
        elif check:
            with read_transaction(engine) as connection, Progress("migrate --check"):
                problem = (
                    migration.schema_differences(engine) or views.check_views(connection) or registry.check(connection)
                )
            click.echo(problem or "the schema is up to date")
            if problem:
                raise click.exceptions.Exit(1)
        else:
            if not yes and (lost_data := migration.data_loss(engine, to)):
                raise UsageError(
                    f"migrating to schema version {to} would lose {', '.join(lost_data)}: back it up and add --yes"
                )
            if to == "head" and (effect := migration.upgrade_effect(engine)):
                print_wrapped(effect, err=True)
            with Progress("migrate") as progress:
                migration.migrate(engine, to, progress)
            if engine.dialect.name == "postgresql" and to == "head":
                _finish_grants(engine)
            with engine.connect() as connection:
                click.echo(
                    f"{redacted_url(database)} is at schema version {migration.schema_version(connection) or 'base'}"
                )


def _finish_grants(engine: Engine) -> None:
    """Let the login read as the role of SQL queries, and create the login of TRNINV_SQL_URL; print what it may not."""
    with translate_statement_errors(engine), engine.begin() as connection:
        refused = grants.grant(connection, (grants.READER,))
    if refused:
        print_wrapped("trninv sql and reports do not work yet:", err=True)
        print_refused(refused)
    elif login := Settings.load().sql_url:
        make_login(engine, login)


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--replace", is_flag=True, help="Delete the rows of TO first.")
def copy(source: str, target: str, replace: bool) -> None:
    """Copy everything from one database to another.

    That includes the catalog, clusters, states, events and tokens. FROM and TO are URLs of SQLite or PostgreSQL
    databases. Tables are created in TO if it has none. All rows are written in one transaction and compared with FROM
    before it is committed; an interrupted copy leaves TO unchanged.

    \b
    trninv copy sqlite:///fleet.db postgresql://trninv@db/fleet
    trninv copy postgresql://trninv@db/fleet sqlite:///fleet.db --replace
    """
    with temporary_engine(source) as source_engine, temporary_engine(target) as target_engine:
        with read_transaction(source_engine):
            pass  # fail before TO is created
        migration.create_tables_if_missing(target_engine)
        with (
            read_transaction(source_engine) as source_connection,
            write_transaction(target_engine, foreign_keys=False) as target_connection,
            Progress("copy") as progress,
        ):
            rows = copy_database(source_connection, target_connection, progress, replace=replace)
    click.echo(f"copied {rows:,} rows to {redacted_url(target)}: all rows are identical")
