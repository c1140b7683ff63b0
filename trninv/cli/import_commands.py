"""Import reports of machines and schedulers, and create such a report on a machine (`import`, `collect`)."""

import json
import platform
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

import click

from trninv.catalog.instance_types import render_unclaimed
from trninv.characters import escape_controls
from trninv.cli.import_files import ReadProgress, copy_streams, open_files, parse_time, print_errors
from trninv.cli.measurement_commands import import_bandwidth, import_nccom_test
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import TrninvError, UsageError
from trninv.importers import collector
from trninv.importers.collection_schedule import CollectionSchedule, parse_duration
from trninv.importers.import_report import ImportResult, render_unreported
from trninv.importers.ingestion import parse_files, store_import
from trninv.importers.observation_sender import ObservationSender, read_token
from trninv.importers.source_register import all_sources
from trninv.placement.allocations import job_import
from trninv.placement.allocations.job_import import JobImportResult
from trninv.placement.candidates.results import abbreviate_places
from trninv.settings import Settings
from trninv.units import pluralize

_RETRY_SECONDS = 120
"""How long `collect` retries by default."""


class _ImportCommand(click.Command):
    """The command ``import KIND FILE…``, which passes kinds with options of their own on to their commands."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and (command := _OWN_COMMANDS.get(args[0])):
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("import", cls=_ImportCommand)
@click.argument("kind", type=click.Choice(list(all_sources())))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--dry-run", is_flag=True, help="Read and check the files without storing anything.")
@click.option(
    "--taken-at", metavar="TIME", help="When the files were written, such as 2026-11-22T02:10:00Z.  [default: now]"
)
@click.option("--trust-host-names", is_flag=True, help="Take the host from the file name if a file names no instance.")
@click.option("--allow-empty", is_flag=True, help="Accept a complete listing that has no instances.")
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
    """Import reports of machines and of the tools that manage them.

    An import never changes the design. The first argument names the program that wrote the files; - reads stdin, and
    gzip is decompressed. If any file has an error, all errors are listed and nothing is stored. Importing a file again
    only updates when its machines were last reported. For each machine, the newest 100 observations
    (TRNINV_OBSERVATIONS) and those that findings cite are kept.

    \b
    trninv import neuron-ls --trust-host-names node-*.json
    trninv import ec2 instances.json topology.json
    trninv import kubernetes nodes.json --dry-run
    squeue --json | trninv import jobs slurm -    # trninv import jobs --help
    trninv import nccom-test run.json    # trninv import nccom-test --help
    trninv import bandwidth pairs.csv             # trninv import bandwidth --help
    """
    if trust_host_names and "-" in files:
        raise UsageError("--trust-host-names needs file names, and stdin has none; give a file NODE.json")
    with ExitStack() as stack:
        copies = copy_streams(stack, files)
        engine, progress = stack.enter_context(temporary_engine(database)), stack.enter_context(Progress("import"))
        file_progress = ReadProgress(progress, len(files))
        with print_errors(), read_transaction(engine) as connection:
            reader = parse_files(
                connection,
                kind,
                open_files(files, copies, file_progress),
                taken_at=parse_time(taken_at),
                trust_host_names=trust_host_names,
                allow_empty=allow_empty,
                progress=file_progress,
            )
            imported = stack.enter_context(reader)
        connection = stack.enter_context(write_transaction(engine, lock=None))  # store_import locks observations
        savepoint = connection.begin_nested()
        progress("storing observations")
        results = store_import(connection, imported, Settings.load().observations)
        if dry_run:
            savepoint.rollback()
    print_value(style, results, lambda: _render_imports(results, dry_run=dry_run))


@click.command("jobs")
@click.argument("system", type=click.Choice(list(job_import.READERS)))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--as",
    "owner",
    metavar="NAME",
    help="Name of the scheduler, if there are several of a kind.  [default: SYSTEM]",
)
@click.option("--partial", is_flag=True, help="Keep jobs that are not in the listing, because it is incomplete.")
@click.option("--allow-empty", is_flag=True, help="Accept an empty listing, which ends all of the scheduler's jobs.")
@click.option(
    "--keep-going",
    is_flag=True,
    help="Omit jobs on unknown hosts or on chips of other jobs, list them and cordon their servers.",
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

    Hosts are matched by their bindings to slots (trninv bindings), or by the names that trninv place and trninv
    topology print. Jobs of other systems stay unchanged. Importing the same listing again changes nothing.

    \b
    squeue --json | trninv import jobs slurm -
    kubectl get resourceclaims,resourceslices -A -o json | trninv import jobs kubernetes -
    """
    with ExitStack() as stack:
        copies = copy_streams(stack, files)
        engine = stack.enter_context(temporary_engine(database))
        file_progress = ReadProgress(stack.enter_context(Progress("import jobs")), len(files))
        with print_errors():
            jobs = job_import.read_jobs(system, open_files(files, copies, file_progress))
            connection = stack.enter_context(write_transaction(engine))
            savepoint = connection.begin_nested()
            result = job_import.import_jobs(
                connection,
                owner or system,
                jobs,
                partial=partial,
                allow_empty=allow_empty,
                keep_going=keep_going,
            )
        if dry_run:
            savepoint.rollback()
    print_value(style, result, lambda: _render_job_import(result, dry_run=dry_run))


_OWN_COMMANDS: Final[Mapping[str, click.Command]] = {
    "jobs": import_jobs,
    "nccom-test": import_nccom_test,
    "bandwidth": import_bandwidth,
}
"""The commands of kinds that have options of their own, by kind."""


@click.command()
@click.option(
    "--to",
    "service",
    default="-",
    show_default=True,
    metavar="URL",
    help="URL of a trninv service, with its token in TRNINV_TOKEN or TRNINV_TOKEN_FILE; - for stdout.",
)
@click.option("--host", metavar="NAME", help="Name of this machine.  [default: the system's host name]")
@click.option("--every", metavar="TIME", help="Repeat in this interval, such as 5m, until stopped.")
@click.option("--spread", is_flag=True, help="With --every: report at a time in the interval that depends on the host.")
@click.option(
    "--retry-for",
    metavar="TIME",
    help="How long to retry if the service is busy or unreachable.  [default: 2m; with --every, the interval]",
)
def collect(service: str, host: str | None, every: str | None, spread: bool, retry_for: str | None) -> None:
    """Print or send a report of this machine's chips.

    The report is one line of JSON with the output of neuron-ls and the files of the Neuron driver, without the command
    lines of processes. To send it, you need a token with the scope observe and the name of this instance. If the
    service is busy or unreachable, the report is sent again after a random pause, which grows with each attempt.

    \b
    trninv collect >> fleet.ndjson
    trninv collect | ssh admin trninv import neuron-ls -
    TRNINV_TOKEN=trninv_… trninv collect --to https://trninv.example
    TRNINV_TOKEN_FILE=/etc/trninv/token trninv collect \\
        --to https://trninv.example --every 5m --spread
    """
    if spread and not every:
        raise UsageError("--spread needs an interval; add --every, such as --every 5m")
    retry_seconds = parse_duration(retry_for, "--retry-for") if retry_for else None
    sender = None if service == "-" else ObservationSender(service, read_token, _print_retry)
    if not every:
        _report(sender, host, _RETRY_SECONDS if retry_seconds is None else retry_seconds)
        return
    seconds = parse_duration(every, "--every")
    if not seconds:
        raise UsageError("--every 0s is no interval; write for example 5m")
    # the first process of a container ignores signals without a handler
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    schedule = CollectionSchedule(seconds, (host or platform.node()) if spread else None)
    for seconds_left in schedule.wait():
        try:
            _report(sender, host, min(seconds_left, seconds if retry_seconds is None else retry_seconds))
        except TrninvError as error:  # next time, the machine, its token and the service may be in order
            print_wrapped(f"trninv: {error}", err=True)


def _report(sender: ObservationSender | None, host: str | None, retry_seconds: float) -> None:
    """Collect a report, and send it or print it."""
    line = json.dumps(collector.collect(host=host), separators=(",", ":"))
    click.echo(sender.send(line, retry_seconds) if sender else line)


def _print_retry(message: str) -> None:
    print_wrapped(f"trninv: {message}", err=True)


def _render_imports(results: Sequence[ImportResult], *, dry_run: bool) -> None:
    outcome = {True: "already imported", False: "would be stored" if dry_run else "stored"}
    print_table(
        ["file", "servers", "chips", ""],
        ((result.name, result.servers, result.chips, outcome[result.is_duplicate]) for result in results),
    )
    for line in render_unreported(results):
        print_wrapped(line)
    for line in render_unclaimed(unclaimed for result in results for unclaimed in result.unclaimed_types):
        print_wrapped(line)


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
