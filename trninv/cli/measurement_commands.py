"""Import measurements of collectives and transfers (`import nccom-test`, `import bandwidth`)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import click

import trninv
from trninv.characters import escape_controls
from trninv.cli.import_files import ReadProgress, copy_streams, open_files, print_errors
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import write_transaction
from trninv.errors import UsageError
from trninv.importers.input_file import MAX_LINE, JsonError, parse_json
from trninv.importers.measured_run import COLLECTIVES, MAX_RANKS
from trninv.routing.measurement_import import (
    RUN_KEYS,
    MeasurementFile,
    MeasurementResult,
    read_measurements,
    store_measurements,
)
from trninv.units import pluralize

_SIDECAR: Final = ".run.json"
_MEASURED_AT = click.option(
    "--measured-at", metavar="TIME", help="When it was measured, such as 2026-11-22T02:10:00Z.  [default: now]"
)
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Read and compare the files without storing anything.")


@click.command("nccom-test")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--host", "hosts", multiple=True, metavar="SERVER", help="Server that ran it: an address, instance or host; repeat."
)
@click.option("--ranks", type=click.IntRange(1, MAX_RANKS), help="Number of ranks.")
@click.option("--cores-per-rank", type=click.IntRange(1), metavar="LNC", help="Physical cores of a rank.")
@click.option("--operation", type=click.Choice(COLLECTIVES), help="The collective that it measured.")
@click.option("--command", metavar="LINE", help="The command line of nccom-test, which names ranks and operation.")
@_MEASURED_AT
@_DRY_RUN
@format_option
@click.pass_obj
def import_nccom_test(
    database: str, /, files: tuple[str, ...], dry_run: bool, measured_at: str | None, style: str, **options: Any
) -> None:
    """Import results of nccom-test: its output as text, or the file of --report-to-json-file.

    The output does not name the server, the ranks or the cores of a rank. State them with options, or in a file with
    the same name and the extension .run.json: {"hosts": [...], "ranks": 64, "cores_per_rank": 2, "operation":
    "all-gather", "measured_at": "..."}. Options win. A text that begins with the command line needs neither --ranks nor
    --operation. Each result is stored with the limit of the wiring at its time.

    \b
    trninv import nccom-test all-gather.txt --host u-trn2x64/d0/s0 --cores-per-rank 2
    trninv import nccom-test result.json --host @i-0abc --cores-per-rank 2 \\
        --command "nccom-test -r 64 -d bf16 allg"
    """
    run = options | {"measured_at": measured_at}

    def describe(name: str) -> Mapping[str, Any]:
        return _read_sidecar(name) | {key: value for key, value in run.items() if value}

    _import(database, "nccom-test", files, describe, style, dry_run=dry_run)


@click.command("bandwidth")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@_MEASURED_AT
@_DRY_RUN
@format_option
@click.pass_obj
def import_bandwidth(database: str, files: tuple[str, ...], measured_at: str | None, dry_run: bool, style: str) -> None:
    """Import measured transfers: CSV with the columns from, to, bytes and seconds.

    From and to are addresses of chips, NICs, servers or other places, or instances and hosts as @NAME. Each transfer is
    stored with the bandwidth of the wiring between the two places at its time.

    \b
    trninv import bandwidth pairs.csv --measured-at 2026-11-22T02:10:00Z
    """
    _import(database, "bandwidth", files, lambda _name: {"measured_at": measured_at}, style, dry_run=dry_run)


def _import(database: str, kind: str, files: Sequence[str], describe: Any, style: str, *, dry_run: bool) -> None:
    """Import files of a kind; ``describe`` returns what is said of the run of a file, by its name."""
    with ExitStack() as stack:
        copies = copy_streams(stack, files)
        fleet = stack.enter_context(trninv.open(database))
        progress = stack.enter_context(Progress(f"import {kind}"))
        file_progress = ReadProgress(progress, len(files))

        def entries() -> Iterator[MeasurementFile]:
            for name, file in zip(files, open_files(files, copies, file_progress), strict=True):
                yield MeasurementFile(file, describe(name))

        with print_errors():
            parsed = read_measurements(fleet, kind, entries())
        with write_transaction(fleet.engine, commits=not dry_run) as connection:
            results = store_measurements(connection, kind, parsed)
    print_value(style, results, lambda: _render(results, dry_run=dry_run))


def _read_sidecar(name: str) -> dict[str, Any]:
    """Return what the file beside an imported file says of the run; empty if there is none.

    Raises
    ------
    UsageError
        It is not an object of known keys.

    """
    sidecar = Path(name).with_suffix(_SIDECAR)
    if name == "-" or not sidecar.is_file():
        return {}
    with sidecar.open("rb") as file:
        content = file.read(MAX_LINE)
    try:
        values = parse_json(content)
    except JsonError as error:
        raise UsageError(f"{sidecar.name} {error.message}") from None
    if not isinstance(values, dict) or not values.keys() <= set(RUN_KEYS):
        raise UsageError(f"{sidecar.name}: write an object with only the keys {', '.join(RUN_KEYS)}")
    hosts = values.get("hosts", [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise UsageError(f'{sidecar.name}: hosts is not a list of names; write "hosts": ["@i-0abc"]')
    return values | {"hosts": tuple(hosts)}


def _render(results: Sequence[MeasurementResult], *, dry_run: bool) -> None:
    outcome = {True: "already imported", False: "would be stored" if dry_run else "stored"}
    print_table(
        ["file", "place", "measurements", ""],
        ((result.name, result.address, result.measurements, outcome[result.is_duplicate]) for result in results),
    )
    for note in dict.fromkeys(note for result in results for note in result.notes):
        print_wrapped(escape_controls(note))
    for result in results:
        if result.impossible:
            print_wrapped(
                f"{escape_controls(result.name)}: {pluralize(result.impossible, 'measurement')} above the limit of the "
                f"wiring; trninv collectives {result.address} --measured says what to check"
            )
