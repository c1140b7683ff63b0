"""Send webhooks, and list and resend messages that were given up (`webhooks`)."""

import os
import signal
import sys
import time

import click
from sqlalchemy import Engine

from trninv.characters import escape_controls
from trninv.cli.database_connection import read_connection
from trninv.cli.import_files import print_errors
from trninv.cli.messages import print_hint, print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import DeliveryError, NotFoundError, UsageError
from trninv.importers.yaml_list import MAX_BYTES
from trninv.settings import Settings
from trninv.units import current_timestamp
from trninv.webhooks.delivery import deliver
from trninv.webhooks.message import Message
from trninv.webhooks.progress import LOCK, DeadLetter, list_dead_letters, list_receivers, remove_dead_letter
from trninv.webhooks.receiver import Receiver, parse_receivers
from trninv.webhooks.sender import send_webhooks
from trninv.webhooks.sender_lock import sender_lock

_LOCK_SECONDS = 5
"""Seconds after which a process looks again whether it may send."""


@click.group("webhooks")
def webhooks() -> None:
    """Send events, incidents and checks to URLs, and resend what was given up.

    TRNINV_WEBHOOKS names the file of receivers; docs/reference/webhooks.md describes it. trninv serve sends by itself.

    \b
    trninv webhooks test pager
    trninv webhooks list
    trninv webhooks retry
    """


def read_receivers(settings: Settings) -> list[Receiver]:
    """Read the receivers in the file of the settings; print what is wrong with it.

    Raises
    ------
    UsageError
        There is no such file, or it is no file of receivers.

    """
    if settings.webhooks is None:
        raise UsageError("set TRNINV_WEBHOOKS to a file of receivers; trninv webhooks --help says more")
    try:
        with settings.webhooks.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{settings.webhooks}: {error.strerror}") from None
    with print_errors():
        return parse_receivers(raw, str(settings.webhooks))


def _find_receiver(name: str) -> Receiver:
    receivers = {receiver.name: receiver for receiver in read_receivers(Settings.load())}
    if name not in receivers:
        raise NotFoundError(f"there is no receiver {name!r:.100}; the file has {', '.join(receivers)}")
    return receivers[name]


@webhooks.command("list")
@format_option
@click.pass_obj
def list_(database: str, style: str) -> None:
    """List receivers, and messages that were given up.

    \b
    trninv webhooks list --format json
    """
    with read_connection(database, None) as connection:
        receivers, letters = list_receivers(connection), list_dead_letters(connection)

    def print_tables() -> None:
        cells = ([row.name, f"{row.sent:,}", f"{row.failed:,}", row.error or ""] for row in receivers)
        print_table(["receiver", "accepted", "failed attempts", "error"], cells)
        if not receivers:
            print_hint("nothing was sent yet: set TRNINV_WEBHOOKS and run trninv serve")
        if letters:
            click.echo()
            rows = (
                [str(row.id), row.receiver, row.type, str(row.attempts), row.failed_at, row.error] for row in letters
            )
            print_table(["id", "receiver", "given up", "attempts", "at", "error"], rows)

    print_value(style, {"receivers": receivers, "deadLetters": letters}, print_tables)


@webhooks.command()
@click.argument("name", metavar="RECEIVER")
def test(name: str) -> None:
    """Send a test message to a receiver, once.

    \b
    trninv webhooks test pager
    """
    receiver = _find_receiver(name)
    now = current_timestamp()
    message = Message.create("test", [now], now, "This is a test of trninv.", {})
    deliver(receiver, message.id, message.body(receiver.body_format))
    click.echo(f"{name} accepted {message.id}")


@webhooks.command()
@click.argument("ids", nargs=-1, type=click.IntRange(1), metavar="[ID]…")
@click.pass_obj
def retry(database: str, ids: tuple[int, ...]) -> None:
    """Send again what was given up, once; exit with 1 if one fails.

    Without an ID, all messages are sent.

    \b
    trninv webhooks retry
    trninv webhooks retry 3 4
    """
    receivers = {receiver.name: receiver for receiver in read_receivers(Settings.load())}
    with temporary_engine(database) as engine:
        with read_transaction(engine) as connection:
            letters = list_dead_letters(connection, ids)
        accepted = sum(_retry(engine, letter, receivers.get(letter.receiver)) for letter in letters)
    click.echo(f"{accepted} of {len(letters)} accepted")
    if accepted < len(letters):
        raise click.exceptions.Exit(1)


def _retry(engine: Engine, letter: DeadLetter, receiver: Receiver | None) -> bool:
    """Send a message once more, and remove it if it is accepted; return whether it was."""
    if receiver is None:
        print_wrapped(f"{letter.id}: the file has no receiver {escape_controls(letter.receiver)}", err=True)
        return False
    try:
        deliver(receiver, letter.message, letter.body.encode())
    except DeliveryError as error:
        print_wrapped(f"{letter.id}: {error}", err=True)
        return False
    with write_transaction(engine, lock=LOCK) as connection:
        remove_dead_letter(connection, letter.id)
    return True


@webhooks.command()
@click.pass_obj
def send(database: str) -> None:
    """Send until stopped, as trninv serve does.

    If another process of the database sends, this one waits until it ends.

    \b
    trninv webhooks send
    """
    # the first process of a container ignores signals without a handler
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    settings, parent = Settings.load(), os.getppid()
    receivers = read_receivers(settings)
    with temporary_engine(database) as engine:
        while os.getppid() == parent:
            with sender_lock(engine) as check_lock:
                if check_lock:

                    def is_needed() -> bool:
                        check_lock()
                        return os.getppid() == parent

                    send_webhooks(engine, receivers, settings.check_results, _log, is_needed)
                    return
            time.sleep(_LOCK_SECONDS)


def _log(line: str) -> None:
    print_wrapped(f"webhooks: {escape_controls(line)}", err=True)
