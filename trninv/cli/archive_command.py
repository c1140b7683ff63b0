"""Archive history to Parquet, verify archives and delete archived events."""

import click

from trninv.cli.change_commands import current_user
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import temporary_engine
from trninv.errors import UsageError
from trninv.history.archive.archive_pruner import PruneResult, prune_events
from trninv.history.archive.archive_store import open_for_writing, open_read_only
from trninv.history.archive.archive_writer import ArchiveResult, archive_history
from trninv.units import pluralize


@click.command()
@click.argument("directory", metavar="DIRECTORY|URL")
@click.option(
    "--before", metavar="TIME", help="Only days that ended before this ISO time with its zone.  [default: now]"
)
@click.option(
    "--delete", is_flag=True, help="Then delete archived events from the database, after comparing them with the files."
)
@click.option("--who", default=current_user, show_default="you", help="Who deletes the events.")
@click.option("--check", is_flag=True, help="Only compare the files with the manifest; exit with 1 if one differs.")
@format_option
@click.pass_obj
def archive(database: str, directory: str, before: str | None, delete: bool, who: str, check: bool, style: str) -> None:
    """Archive history as Parquet files, one directory per day.

    The files contain events, unhealthy parts and observations. Run it again at any time, even after an interruption: it
    adds missing days and never changes existing files. A URL names an object store (s3, gs, abfs, hdfs) that PyArrow
    finds credentials for. docs/history.md has the SQL for DuckDB and Spark.

    \b
    trninv archive /srv/history
    trninv archive s3://bucket/history
    trninv archive /srv/history --before 2026-11-01T00:00:00Z --delete
    """
    if check:
        if delete or before:
            raise UsageError("--check only reads; omit --before and --delete")
        _check_files(directory, style)
        return
    with temporary_engine(database) as engine, open_for_writing(directory) as store, Progress("archive") as progress:
        result = archive_history(engine, store, before, progress)
        removed = prune_events(engine, store, who) if delete else None

    print_value(
        style,
        {"before": result.before, "rows": result.rows, "removed": removed},
        lambda: _render_result(result, removed, delete=delete),
    )


def _render_result(result: ArchiveResult, removed: PruneResult | None, *, delete: bool) -> None:
    for name, number in result.rows.items():
        print_wrapped(f"{name}: {pluralize(number, 'row')}")
    if not result.rows:
        print_wrapped(f"nothing new before {result.before}: a day is archived after it ends, in UTC")
    if removed and removed.events:
        print_wrapped(
            f"deleted {pluralize(removed.events, 'event')} up to {removed.last_event}: history now starts at "
            f"{removed.since}"
        )
    elif delete:
        print_wrapped("deleted nothing: events are deleted only up to a seal, and only once all of them are archived")


def _check_files(directory: str, style: str) -> None:
    store = open_read_only(directory)
    with Progress("archive --check"), store.directory.translate_errors():
        errors, files = list(store.integrity_errors()), sum(len(entry.files) for entry in store.entries)

    def table() -> None:
        for error in errors:
            print_wrapped(error)
        if not errors:
            print_wrapped(f"no differences: {pluralize(files, 'file')}")

    print_value(style, {"files": files, "faults": errors}, table)
    if errors:
        raise click.exceptions.Exit(1)
