"""Send messages to all receivers, each in a thread of its own, so that a receiver that fails delays no other."""

import random
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Final

from sqlalchemy import Engine

from trninv.checks.check_report import read_report
from trninv.database.engine import read_transaction, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.errors import DeliveryError, TrninvError
from trninv.webhooks.collection import Batch, Step, collect_messages, first_progress
from trninv.webhooks.delivery import deliver
from trninv.webhooks.message import Message
from trninv.webhooks.progress import LOCK, ReceiverProgress, add_dead_letter, load_progress, save_progress
from trninv.webhooks.receiver import Receiver

_POLL_SECONDS: Final = 0.5
_SAVE_SECONDS: Final = 1.0
"""Seconds in which accepted messages are stored together; after a crash, they are sent again."""
_FAILURE_SECONDS: Final = 60.0
"""Seconds in which failed attempts are counted together, because each change of the database ends cached answers."""
_FIRST_BACKOFF: Final = 1.0
_MAX_BACKOFF: Final = 60.0
"""The longest random pause before the first repetition, and before any, in seconds."""
_MAX_RETRY_AFTER: Final = 3_600.0
_END_SECONDS: Final = 2.0
"""How long the end waits for a message in flight; later, the message is sent again at the next start."""


class _StoppedError(Exception):
    """The sender was stopped before a message was accepted."""


class ReceiverSender:
    """Sends messages to one receiver, in order, and stores how far it is.

    Parameters
    ----------
    results
        File with the results of checks; None: there are none.
    log
        Prints a line.
    stop
        Ends pauses when it is set.

    """

    def __init__(
        self,
        engine: Engine,
        tracker: RevisionTracker,
        receiver: Receiver,
        results: Path | None,
        log: Callable[[str], object],
        stop: Event,
        rng: random.Random | None = None,
    ) -> None:
        self._engine, self._tracker, self._receiver, self._results = engine, tracker, receiver, results
        self._log, self._stop, self._random = log, stop, rng or random.Random()  # noqa: S311 # no secret
        self._progress: ReceiverProgress | None = None
        self._read: Hashable | None = None
        self._sent = self._failed = 0
        self._saved_at, self._last_error = time.monotonic(), ""

    def run(self) -> None:
        """Send until stopped; an error of the database or the selection is printed once, and tried again."""
        while not self._stop.is_set():
            try:
                is_complete = self.poll()
                self._last_error = ""
            except _StoppedError:
                return
            except TrninvError as error:
                is_complete = True
                if str(error) != self._last_error:
                    self._log(f"{self._receiver.name}: {error}")
                self._last_error = str(error)
            if is_complete:
                self._stop.wait(_POLL_SECONDS)

    def poll(self) -> bool:
        """Send what the receiver has not got; return whether it then has everything.

        Raises
        ------
        TrninvError
            The database can't be read, or a selection names a place that does not exist.

        """
        report = read_report(self._results)
        revision = self._tracker.current()
        state = (revision, report and tuple(report.statuses))
        if revision is not None and state == self._read:
            return True
        with read_transaction(self._engine) as connection:
            progress = self._progress or load_progress(connection, self._receiver.name)
            is_new = progress is None
            self._progress = progress or first_progress(connection, self._receiver)
            batch = collect_messages(connection, self._receiver, self._progress, report)
        if is_new:
            self._save()
        self._send_batch(batch)
        self._read = state if batch.is_complete else None
        return batch.is_complete

    def _send_batch(self, batch: Batch) -> None:
        try:
            for message, step in batch.messages:
                self._send(message, step)
        finally:
            if self._sent or self._failed:
                self._save()
        self._progress = replace(self._reached, last_event=batch.newest_event)

    @property
    def _reached(self) -> ReceiverProgress:
        """The receiver's progress, which `poll` reads first."""
        assert self._progress is not None
        return self._progress

    @property
    def _seconds_since_save(self) -> float:
        return time.monotonic() - self._saved_at

    def _send(self, message: Message, step: Step) -> None:
        """Send a message until it is accepted or given up; then take its step."""
        receiver = self._receiver
        body = message.body(receiver.body_format)
        for attempt in count(1):
            try:
                deliver(receiver, message.id, body)
                break
            except DeliveryError as error:
                self._failed += 1
                if error.is_final or attempt >= receiver.attempts:
                    self._give_up(message, step, attempt, str(error))
                    return
                pause = min(error.retry_after, _MAX_RETRY_AFTER) + self._random.uniform(
                    0, min(_MAX_BACKOFF, _FIRST_BACKOFF * 2 ** min(attempt - 1, 10))
                )
                if attempt == 1 or self._seconds_since_save > _FAILURE_SECONDS:
                    self._save(str(error))
            if self._stop.wait(pause):
                raise _StoppedError
        self._sent += 1
        self._progress = step(self._reached)
        if self._seconds_since_save > _SAVE_SECONDS:
            self._save()

    def _give_up(self, message: Message, step: Step, attempts: int, error: str) -> None:
        receiver = self._receiver
        self._log(f"{receiver.name}: {message.type} was given up after attempt {attempts}: {error}")
        progress = step(self._reached)
        with write_transaction(self._engine, lock=LOCK) as connection:
            add_dead_letter(connection, receiver.name, message, receiver.body_format, attempts, error)
            save_progress(connection, receiver.name, progress, sent=self._sent, failed=self._failed, error=error)
        self._note_saved(progress)

    def _save(self, error: str | None = None) -> None:
        """Store the progress, and what was counted since the last time."""
        counts = {"sent": self._sent, "failed": self._failed}
        with write_transaction(self._engine, lock=LOCK) as connection:
            save_progress(connection, self._receiver.name, self._reached, error=error, **counts)
        self._note_saved(self._reached)

    def _note_saved(self, progress: ReceiverProgress) -> None:
        self._sent = self._failed = 0
        self._progress, self._saved_at = progress, time.monotonic()


def send_webhooks(
    engine: Engine,
    receivers: Sequence[Receiver],
    results: Path | None,
    log: Callable[[str], object],
    is_needed: Callable[[], bool],
) -> None:
    """Send messages to receivers as long as `is_needed` returns True.

    Raises
    ------
    Exception
        A thread failed, or `is_needed` did.

    """
    stop, tracker, errors = Event(), RevisionTracker(engine), list[Exception]()

    def run(sender: ReceiverSender) -> None:
        try:
            sender.run()
        except Exception as error:  # noqa: BLE001 # raised by the main thread
            errors.append(error)
            stop.set()

    senders = [ReceiverSender(engine, tracker, receiver, results, log, stop) for receiver in receivers]
    threads = [Thread(target=run, args=[sender], daemon=True) for sender in senders]
    for thread in threads:
        thread.start()
    try:
        while not stop.wait(_POLL_SECONDS) and is_needed():
            pass
    finally:
        stop.set()
        for thread in threads:
            thread.join(_END_SECONDS)
        tracker.close()
    if errors:
        raise errors[0]
