"""import, collect: what machines and their managers report."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

import click

from trninv.characters import plain
from trninv.cli.output import Progress, format_option, rows, show
from trninv.errors import FileError, UsageError
from trninv.importers.collect import collect as collected
from trninv.importers.collect import sent
from trninv.importers.kinds import READERS
from trninv.importers.observation import File, Imported, gathered, keep
from trninv.importers.reading import MAX_FILE
from trninv.inventory.database import connect, reading, writing

_PIECE = 1 << 20


@click.command("import")
@click.argument("kind", type=click.Choice(list(READERS)))
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--dry-run", is_flag=True, help="Read and check all, and keep nothing.")
@click.option(
    "--taken-at", metavar="TIME", help="When the files were written, such as 2026-11-22T02:10:00Z.  [default: now]"
)
@click.option("--trust-host-names", is_flag=True, help="A file that names no instance speaks for the host in its name.")
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

    \b
    trninv import neuron-ls --trust-host-names node-*.json
    trninv import ec2 instances.json topology.json
    trninv import kubernetes nodes.json --dry-run
    """
    if trust_host_names and "-" in files:
        raise UsageError("stdin has no name that could be a host's: give --trust-host-names a file NODE.json")
    with ExitStack() as stack:
        copies = {name: stack.enter_context(_copy(name)) for name in files if not Path(name).is_file()}
        engine, progress = stack.enter_context(connect(database)), stack.enter_context(Progress("import"))
        try:
            with reading(engine) as connection:
                reader = gathered(
                    connection,
                    kind,
                    _opened(files, copies),
                    taken_at=_time(taken_at),
                    trust_host_names=trust_host_names,
                    allow_empty=allow_empty,
                    progress=progress,
                )
                read = stack.enter_context(reader)
        except FileError as error:
            for fault in error.faults:
                click.echo(plain(fault), err=True)
            raise
        connection = stack.enter_context(writing(engine))
        kept = connection.begin_nested()
        found = keep(connection, read)
        if dry_run:
            kept.rollback()
    show(style, found, lambda: _table(found, dry_run=dry_run))


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


def _table(found: Sequence[Imported], *, dry_run: bool) -> None:
    became = {True: "seen again", False: "would be kept" if dry_run else "kept"}
    rows(
        ["file", "servers", "chips", ""],
        ((each.name, each.servers, each.chips, became[each.is_known]) for each in found),
    )


def _time(given: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(given) if given else None
    except ValueError:
        raise UsageError(f"--taken-at {given!r}: write it as 2026-11-22T02:10:00Z") from None


@contextmanager
def _copy(name: str) -> Iterator[IO[bytes]]:
    """What a stream says: all of it comes before the database is locked, and it is read twice."""
    left = MAX_FILE + 1
    with tempfile.TemporaryFile() as copy:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as stream:
            while piece := stream.read(min(left, _PIECE)):
                left -= copy.write(piece)
        yield copy


def _opened(names: Sequence[str], copies: Mapping[str, IO[bytes]]) -> Iterator[File]:
    """Files by their names, each open while it is read."""
    for name in names:
        called = "stdin" if name == "-" else Path(name).name
        if name in copies:
            copies[name].seek(0)
            yield File(called, copies[name])
        else:
            with Path(name).open("rb") as content:
                yield File(called, content)
