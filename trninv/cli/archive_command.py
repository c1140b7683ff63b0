"""Archive history to Parquet, verify archives and delete archived events."""

from pathlib import Path

import click

from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.set_command import current_user
from trninv.database.engine import temporary_engine
from trninv.errors import UsageError
from trninv.history.archive.archive_pruner import PruneResult, prune_events
from trninv.history.archive.archive_store import open_for_writing, open_read_only
from trninv.history.archive.archive_writer import ArchiveResult
from trninv.history.archive.archive_writer import archive_history as written
from trninv.units import pluralize


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--before", metavar="TIME", help="Only days that ended before: an ISO time with its zone.  [default: now]"
)
@click.option("--delete", is_flag=True, help="Delete archived events from the database, after comparing them.")
@click.option("--who", default=current_user, show_default="you", help="Who deletes them.")
@click.option("--check", is_flag=True, help="Only compare the files with the manifest; exit 1 if one differs.")
@format_option
@click.pass_obj
def archive(
    database: str, directory: Path, before: str | None, delete: bool, who: str, check: bool, style: str
) -> None:
    """Archive history as Parquet files, one directory a day.

    The files have events, unhealthy parts and observations. If you run it again, also after an interruption, it adds
    what is missing and changes no file. docs/history.md has the SQL for DuckDB and Spark.

    \b
    trninv archive /srv/history
    trninv archive /srv/history --before 2026-11-01T00:00:00Z --delete
    """
    if check:
        if delete or before:
            raise UsageError("--check only reads; omit --before and --delete")
        _check_files(directory, style)
        return
    with temporary_engine(database) as engine, open_for_writing(directory) as store, Progress("archive") as progress:
        result = written(engine, store, before, progress)
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
        print_wrapped("deleted nothing: events are deleted up to a seal, once all before it are archived")


def _check_files(directory: Path, style: str) -> None:
    store = open_read_only(directory)
    with Progress("archive --check"):
        errors, files = list(store.integrity_errors()), sum(len(entry.files) for entry in store.entries)

    def table() -> None:
        for error in errors:
            print_wrapped(error)
        if not errors:
            print_wrapped(f"no differences: {pluralize(files, 'file')}")

    print_value(style, {"files": files, "faults": errors}, table)
    if errors:
        raise click.exceptions.Exit(1)
