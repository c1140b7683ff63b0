"""import, collect: what machines and their managers report."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import click

from trninv.characters import plain
from trninv.cli.output import format_option, rows, show
from trninv.cli.progress import Progress
from trninv.cli.prose import say
from trninv.cli.unclaimed import say_unclaimed
from trninv.errors import FileError, UsageError
from trninv.importers.collect import collect as collected
from trninv.importers.collect import sent
from trninv.importers.import_report import Imported, render_unseen
from trninv.importers.kinds import READERS
from trninv.importers.observation import File, gathered, keep
from trninv.importers.value import MAX_SET
from trninv.inventory.database import connect, reading, writing
from trninv.jobs.imported import READERS as JOB_READERS
from trninv.jobs.imported import JobsImported, read_jobs
from trninv.jobs.imported import import_jobs as held
from trninv.jobs.named import brief
from trninv.settings import Settings
from trninv.units import counted

_PIECE = 1 << 20


class _Import(click.Command):
    """``import KIND FILE…``, of which ``import jobs SYSTEM FILE…`` is a command of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["jobs"]:
            return import_jobs.make_context(f"{info_name} jobs", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("import", cls=_Import)
@click.argument("kind", type=click.Choice(list(READERS)))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--dry-run", is_flag=True, help="Read and check all, and keep nothing.")
@click.option(
    "--taken-at", metavar="TIME", help="When the files were written, such as 2026-11-22T02:10:00Z.  [default: now]"
)
@click.option("--trust-host-names", is_flag=True, help="A file without an instance speaks for the machine in its name.")
@click.option("--allow-empty", is_flag=True, help="Take a whole listing without an instance for what it says.")
@format_option
@click.pass_obj
def import_(  # one parameter an option
    database: str,
    kind: str,
    files: tuple[str, ...],
    dry_run: bool,
    taken_at: str | None,
    trust_host_names: bool,
    allow_empty: bool,
    style: str,
) -> None:
    """Keep what machines and their managers report, beside the design: instances, chips, network nodes.

    KIND is the program that wrote the files; - is stdin, and gzip is unpacked. All files are kept, or, where there is
    any fault in one, none, and every fault is told. The same file again only counts as seen once more.
    Of the files of one machine the newest 100 are kept (TRNINV_OBSERVATIONS), and those that findings cite.

    \b
    trninv import neuron-ls --trust-host-names node-*.json
    trninv import ec2 instances.json topology.json
    trninv import kubernetes nodes.json --dry-run
    squeue --json | trninv import jobs slurm -    # trninv import jobs --help
    """
    if trust_host_names and "-" in files:
        raise UsageError("stdin has no name that could be a host's: give --trust-host-names a file NODE.json")
    with ExitStack() as stack:
        copies = {name: stack.enter_context(_copy(name)) for name in files if not Path(name).is_file()}
        engine, progress = stack.enter_context(connect(database)), stack.enter_context(Progress("import"))
        told = _Reading(progress, len(files))
        try:
            with reading(engine) as connection:
                reader = gathered(
                    connection,
                    kind,
                    _opened(files, copies, told),
                    taken_at=_time(taken_at),
                    trust_host_names=trust_host_names,
                    allow_empty=allow_empty,
                    progress=told,
                )
                read = stack.enter_context(reader)
        except FileError as error:
            for fault in error.faults:
                say(plain(fault), err=True)
            raise
        connection = stack.enter_context(writing(engine))
        kept = connection.begin_nested()
        progress("keeping what was read")
        found = keep(connection, read, Settings.load().observations)
        if dry_run:
            kept.rollback()
    show(style, found, lambda: _table(found, dry_run=dry_run))


@click.command("jobs")
@click.argument("system", type=click.Choice(list(JOB_READERS)))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--as",
    "owner",
    metavar="NAME",
    help="Whose jobs they are, where several schedulers of a kind are.  [default: SYSTEM]",
)
@click.option("--partial", is_flag=True, help="The listing is of some jobs only: end none that it leaves out.")
@click.option("--allow-empty", is_flag=True, help="End all of its jobs where none is listed.")
@click.option(
    "--keep-going",
    is_flag=True,
    help="Leave out, and name, jobs on unknown hosts and on chips of others; the servers they are on take no new jobs.",
)
@click.option("--dry-run", is_flag=True, help="Read and check all, and keep nothing.")
@format_option
@click.pass_obj
def import_jobs(  # one parameter an option
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
    """Hold the chips that a scheduler's jobs hold, by its listing; what is listed no more has ended.

    Hosts are those that are bound to slots (trninv bindings), or are called as trninv fits and topology call them. Jobs
    of other systems are never touched. The same listing again changes nothing.

    \b
    squeue --json | trninv import jobs slurm -
    kubectl get resourceclaims,resourceslices -A -o json | trninv import jobs kubernetes -
    """
    with ExitStack() as stack:
        copies = {name: stack.enter_context(_copy(name)) for name in files if not Path(name).is_file()}
        engine = stack.enter_context(connect(database))
        told = _Reading(stack.enter_context(Progress("import jobs")), len(files))
        try:
            jobs = read_jobs(system, _opened(files, copies, told))
            connection = stack.enter_context(writing(engine))
            kept = connection.begin_nested()
            found = held(
                connection,
                owner or system,
                jobs,
                partial=partial,
                allow_empty=allow_empty,
                keep_going=keep_going,
            )
        except FileError as error:
            for fault in error.faults:
                say(plain(fault), err=True)
            raise
        if dry_run:
            kept.rollback()
    show(style, found, lambda: _tell(found, dry_run=dry_run))


@click.command()
@click.option(
    "--to",
    "service",
    default="-",
    show_default=True,
    metavar="URL",
    help="A trninv service, whose token TRNINV_TOKEN has; - prints.",
)
def collect(service: str) -> None:
    """Print or send what this machine says of itself, as one line: its chips by neuron-ls, its Neuron driver's files.

    Command lines of processes are left out. The token is one of scope observe that is named for this instance.

    \b
    trninv collect >> fleet.ndjson
    trninv collect | ssh admin trninv import neuron-ls -
    TRNINV_TOKEN=trninv_… trninv collect --to https://trninv.example
    """
    line = json.dumps(collected(), separators=(",", ":"))
    click.echo(line if service == "-" else sent(service, line, os.environ.get("TRNINV_TOKEN")))


class _Reading:
    """Says which of the files is read, and how many servers of it were."""

    def __init__(self, progress: Progress, files: int) -> None:
        self._progress, self._at, self._files = progress, -1, files

    def next(self, name: str) -> None:
        self._at += 1
        self._progress(name, self._at, self._files)

    def __call__(self, name: str, servers: int) -> None:
        self._progress(f"{name}, {counted(servers, 'server')}", self._at, self._files)


def _table(found: Sequence[Imported], *, dry_run: bool) -> None:
    became = {True: "seen again", False: "would be kept" if dry_run else "kept"}
    rows(
        ["file", "servers", "chips", ""],
        ((each.name, each.servers, each.chips, became[each.is_known]) for each in found),
    )
    for line in render_unseen(found):
        say(line)
    say_unclaimed(of for each in found for of in each.unclaimed)


def _tell(found: JobsImported, *, dry_run: bool) -> None:
    for each in found.left_out:
        say(f"left out: {plain(each)}", err=True)
    said = f"{found.system}: {found.held} held, {found.moved} moved, {found.unchanged} unchanged, {found.ended} ended"
    say(said + (" (dry run: nothing was kept)" if dry_run else ""))
    if found.not_available:
        say(f"take no new jobs until an import has the jobs left out that run there: {brief(found.not_available)}")
    if found.available_again:
        say(f"take new jobs again: {brief(found.available_again)}")
    if found.without:
        say(f"hold no chips by the listing: {counted(found.without, 'job')}")
    if found.whole:
        say(f"held as whole servers, since their chips are not named: {counted(found.whole, 'job')}")
    if found.later:
        says = "hold chips since others gave them back, which is later than they began"
        say(f"{says}: {counted(found.later, 'job')}")


def _time(given: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(given) if given else None
    except ValueError:
        raise UsageError(f"--taken-at {given!r}: write it as 2026-11-22T02:10:00Z") from None


@contextmanager
def _copy(name: str) -> Iterator[IO[bytes]]:
    """What a stream says: all of it comes before the database is locked, and it is read twice."""
    left = MAX_SET + 1
    with tempfile.TemporaryFile() as copy:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as stream:
            while piece := stream.read(min(left, _PIECE)):
                left -= copy.write(piece)
        yield copy


def _opened(names: Sequence[str], copies: Mapping[str, IO[bytes]], told: "_Reading") -> Iterator[File]:
    """Files by their names, each open while it is read."""
    for name in names:
        called = "stdin" if name == "-" else Path(name).name
        told.next(called)
        if name in copies:
            copies[name].seek(0)
            yield File(called, copies[name])
        else:
            with Path(name).open("rb") as content:
                yield File(called, content)
