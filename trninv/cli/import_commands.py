"""Import what machines and schedulers report, and collect it on a machine."""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import click

from trninv.catalog.instance_types import UnclaimedInstances
from trninv.characters import escape_controls
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import InvalidFileError, UsageError
from trninv.importers.collector import collect as collected
from trninv.importers.collector import post_observation
from trninv.importers.import_report import ImportResult, render_unreported
from trninv.importers.ingestion import ImportFile, parse_files, store_import
from trninv.importers.json_value import MAX_TOTAL_BYTES
from trninv.importers.source_readers import READERS
from trninv.placement.allocations.job_import import READERS as JOB_READERS
from trninv.placement.allocations.job_import import JobImportResult, read_jobs
from trninv.placement.allocations.job_import import import_jobs as held
from trninv.placement.candidates.results import abbreviate_places
from trninv.settings import Settings
from trninv.units import pluralize


def print_unclaimed(types: Iterable[UnclaimedInstances]) -> None:
    """Print each type with its reason and its count, summed over repeated entries."""
    counts, reasons = Counter[str](), dict[str, str]()
    for unclaimed in types:
        counts[unclaimed.type] += unclaimed.count
        reasons[unclaimed.type] = unclaimed.why
    for name, count in sorted(counts.items()):
        print_wrapped(f"{pluralize(count, 'machine')} of type {name}: {reasons[name]}")


_CHUNK_BYTES = 1 << 20


class _ImportGroup(click.Command):
    """The command ``import KIND FILE…``, which hands ``import jobs SYSTEM FILE…`` to another command."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["jobs"]:
            return import_jobs.make_context(f"{info_name} jobs", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("import", cls=_ImportGroup)
@click.argument("kind", type=click.Choice(list(READERS)))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--dry-run", is_flag=True, help="Read and check the files without storing anything.")
@click.option(
    "--taken-at", metavar="TIME", help="When the files were written, such as 2026-11-22T02:10:00Z.  [default: now]"
)
@click.option("--trust-host-names", is_flag=True, help="Take the host from the file name if a file names no instance.")
@click.option("--allow-empty", is_flag=True, help="Accept a complete listing without instances.")
@format_option
@click.pass_obj
def import_(  # one parameter per option
    database: str,
    kind: str,
    files: tuple[str, ...],
    dry_run: bool,
    taken_at: str | None,
    trust_host_names: bool,
    allow_empty: bool,
    style: str,
) -> None:
    """Import what machines and their managers report.

    The design stays unchanged. KIND is the program that wrote the files; - is stdin, and gzip is unpacked. If any file
    has an error, all errors are listed and nothing is stored. Importing a file again only updates when it was last
    reported. The newest 100 observations of each machine (TRNINV_OBSERVATIONS) are kept, and those that findings cite.

    \b
    trninv import neuron-ls --trust-host-names node-*.json
    trninv import ec2 instances.json topology.json
    trninv import kubernetes nodes.json --dry-run
    squeue --json | trninv import jobs slurm -    # trninv import jobs --help
    """
    if trust_host_names and "-" in files:
        raise UsageError("--trust-host-names needs file names, and stdin has none; give a file NODE.json")
    with ExitStack() as stack:
        copies = {name: stack.enter_context(_copy_stream(name)) for name in files if not Path(name).is_file()}
        engine, progress = stack.enter_context(temporary_engine(database)), stack.enter_context(Progress("import"))
        file_progress = _ReadProgress(progress, len(files))
        try:
            with read_transaction(engine) as connection:
                reader = parse_files(
                    connection,
                    kind,
                    _open_files(files, copies, file_progress),
                    taken_at=_parse_time(taken_at),
                    trust_host_names=trust_host_names,
                    allow_empty=allow_empty,
                    progress=file_progress,
                )
                imported = stack.enter_context(reader)
        except InvalidFileError as error:
            for error_line in error.errors:
                print_wrapped(escape_controls(error_line), err=True)
            raise
        connection = stack.enter_context(write_transaction(engine))
        savepoint = connection.begin_nested()
        progress("storing observations")
        results = store_import(connection, imported, Settings.load().observations)
        if dry_run:
            savepoint.rollback()
    print_value(style, results, lambda: _render_imports(results, dry_run=dry_run))


@click.command("jobs")
@click.argument("system", type=click.Choice(list(JOB_READERS)))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--as",
    "owner",
    metavar="NAME",
    help="Name of the scheduler, if there are several of a kind.  [default: SYSTEM]",
)
@click.option("--partial", is_flag=True, help="The listing is incomplete: do not end jobs that it omits.")
@click.option("--allow-empty", is_flag=True, help="Accept an empty listing, which ends all of the scheduler's jobs.")
@click.option(
    "--keep-going",
    is_flag=True,
    help="Omit and list jobs on unknown hosts or allocated chips, and cordon their servers.",
)
@click.option("--dry-run", is_flag=True, help="Read and check the files without storing anything.")
@format_option
@click.pass_obj
def import_jobs(  # one parameter per option
    database: str,
    system: str,
    files: tuple[str, ...],
    owner: str | None,
    partial: bool,
    allow_empty: bool,
    keep_going: bool,
    dry_run: bool,
    style: str,
) -> None:
    """Allocate the chips of a scheduler's jobs, and end jobs that it no longer lists.

    Hosts are found by their bindings to slots (trninv bindings), or by the names that trninv place and topology print.
    Jobs of other systems stay unchanged. Importing the same listing again changes nothing.

    \b
    squeue --json | trninv import jobs slurm -
    kubectl get resourceclaims,resourceslices -A -o json | trninv import jobs kubernetes -
    """
    with ExitStack() as stack:
        copies = {name: stack.enter_context(_copy_stream(name)) for name in files if not Path(name).is_file()}
        engine = stack.enter_context(temporary_engine(database))
        file_progress = _ReadProgress(stack.enter_context(Progress("import jobs")), len(files))
        try:
            jobs = read_jobs(system, _open_files(files, copies, file_progress))
            connection = stack.enter_context(write_transaction(engine))
            savepoint = connection.begin_nested()
            result = held(
                connection,
                owner or system,
                jobs,
                partial=partial,
                allow_empty=allow_empty,
                keep_going=keep_going,
            )
        except InvalidFileError as error:
            for error_line in error.errors:
                print_wrapped(escape_controls(error_line), err=True)
            raise
        if dry_run:
            savepoint.rollback()
    print_value(style, result, lambda: _render_job_import(result, dry_run=dry_run))


@click.command()
@click.option(
    "--to",
    "service",
    default="-",
    show_default=True,
    metavar="URL",
    help="URL of a trninv service, with its token in TRNINV_TOKEN; - for stdout.",
)
def collect(service: str) -> None:
    """Print or send a report of this machine's chips.

    The report is one line of JSON with the output of neuron-ls and the files of the Neuron driver, without the command
    lines of processes. The token needs the scope observe and the name of this instance.

    \b
    trninv collect >> fleet.ndjson
    trninv collect | ssh admin trninv import neuron-ls -
    TRNINV_TOKEN=trninv_… trninv collect --to https://trninv.example
    """
    line = json.dumps(collected(), separators=(",", ":"))
    click.echo(line if service == "-" else post_observation(service, line, os.environ.get("TRNINV_TOKEN")))


class _ReadProgress:
    """Callback that shows which file is being read and how many of its servers were."""

    def __init__(self, progress: Progress, files: int) -> None:
        self._progress, self._index, self._files = progress, -1, files

    def start_file(self, name: str) -> None:
        self._index += 1
        self._progress(name, self._index, self._files)

    def __call__(self, name: str, servers: int) -> None:
        self._progress(f"{name}, {pluralize(servers, 'server')}", self._index, self._files)


def _render_imports(results: Sequence[ImportResult], *, dry_run: bool) -> None:
    outcome = {True: "already imported", False: "would be stored" if dry_run else "stored"}
    print_table(
        ["file", "servers", "chips", ""],
        ((result.name, result.servers, result.chips, outcome[result.is_duplicate]) for result in results),
    )
    for line in render_unreported(results):
        print_wrapped(line)
    print_unclaimed(unclaimed for result in results for unclaimed in result.unclaimed_types)


def _render_job_import(result: JobImportResult, *, dry_run: bool) -> None:
    for note in result.omitted:
        print_wrapped(f"omitted: {escape_controls(note)}", err=True)
    summary = (
        f"{result.system}: {result.allocated} allocated, {result.moved} moved, {result.unchanged} unchanged, "
        f"{result.ended} ended"
    )
    print_wrapped(summary + (" (dry run: nothing was stored)" if dry_run else ""))
    if result.cordoned:
        print_wrapped(
            "cordoned until an import can allocate the omitted jobs that run there: "
            f"{abbreviate_places(result.cordoned)}"
        )
    if result.uncordoned:
        print_wrapped(f"uncordoned: {abbreviate_places(result.uncordoned)}")
    if result.without_chips:
        print_wrapped(f"without chips in the listing: {pluralize(result.without_chips, 'job')}")
    if result.whole_servers:
        print_wrapped(
            f"allocated as whole servers, since the listing names no chips: {pluralize(result.whole_servers, 'job')}"
        )
    if result.started_late:
        heading = "recorded as starting later than listed, since their chips were still allocated"
        print_wrapped(f"{heading}: {pluralize(result.started_late, 'job')}")


def _parse_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"--taken-at {text!r} is not a time; write it as 2026-11-22T02:10:00Z") from None


@contextmanager
def _copy_stream(name: str) -> Iterator[IO[bytes]]:
    """Yield a temporary copy of a stream, which can be read twice, and is complete before the database is locked."""
    bytes_left = MAX_TOTAL_BYTES + 1
    with tempfile.TemporaryFile() as copy:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as stream:
            while chunk := stream.read(min(bytes_left, _CHUNK_BYTES)):
                bytes_left -= copy.write(chunk)
        yield copy


def _open_files(
    names: Sequence[str], copies: Mapping[str, IO[bytes]], progress: "_ReadProgress"
) -> Iterator[ImportFile]:
    """Yield the files of these names; a file is open only until the next one is requested."""
    for name in names:
        display_name = "stdin" if name == "-" else Path(name).name
        progress.start_file(display_name)
        if name in copies:
            copies[name].seek(0)
            yield ImportFile(display_name, copies[name])
        else:
            with Path(name).open("rb") as content:
                yield ImportFile(display_name, content)
