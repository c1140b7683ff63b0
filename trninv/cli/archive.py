"""archive: history as Parquet for other engines, and out of the database."""

from pathlib import Path

import click

from trninv.cli.output import format_option, show
from trninv.cli.progress import Progress
from trninv.cli.prose import say
from trninv.cli.state import you
from trninv.errors import UsageError
from trninv.history.archive.removing import Removed, remove
from trninv.history.archive.store import opened, read
from trninv.history.archive.writing import Archived
from trninv.history.archive.writing import archive as written
from trninv.inventory.database import connect
from trninv.units import counted


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--before", metavar="TIME", help="Only days that had ended by then: an ISO time with its zone.  [default: now]"
)
@click.option("--delete", is_flag=True, help="Remove the events that are archived and compared from the database.")
@click.option("--who", default=you, show_default="you", help="Who removes them.")
@click.option("--check", is_flag=True, help="Only compare the files with the manifest; exit 1 where one differs.")
@format_option
@click.pass_obj
def archive(
    database: str, directory: Path, before: str | None, delete: bool, who: str, check: bool, style: str
) -> None:
    """Write history to Parquet files, a directory a day: events, what was not up, observations.

    Run again, it adds what is missing and changes no file. Killed, it is run again. docs/history.md has the SQL for
    DuckDB and Spark.

    \b
    trninv archive /srv/history
    trninv archive /srv/history --before 2026-11-01T00:00:00Z --delete
    """
    if check:
        if delete or before:
            raise UsageError("--check only reads: leave out --before and --delete")
        _check(directory, style)
        return
    with connect(database) as engine, opened(directory) as store, Progress("archive") as progress:
        made = written(engine, store, before, progress)
        gone = remove(engine, store, who) if delete else None

    show(style, {"before": made.before, "rows": made.rows, "removed": gone}, lambda: _tell(made, gone, delete=delete))


def _tell(made: Archived, gone: Removed | None, *, delete: bool) -> None:
    for name, number in made.rows.items():
        say(f"{name}: {counted(number, 'row')}")
    if not made.rows:
        say(f"nothing new before {made.before}: a day is archived once it has ended, in UTC")
    if gone and gone.events:
        say(f"removed {counted(gone.events, 'event')} up to {gone.upto}: history is known since {gone.since}")
    elif delete:
        say("removed nothing: events go up to a seal before which all are archived")


def _check(directory: Path, style: str) -> None:
    store = read(directory)
    with Progress("archive --check"):
        faults, files = list(store.faults()), sum(len(entry.files) for entry in store.entries)

    def table() -> None:
        for fault in faults:
            say(fault)
        if not faults:
            say(f"all as written: {counted(files, 'file')}")

    show(style, {"files": files, "faults": faults}, table)
    if faults:
        raise click.exceptions.Exit(1)
