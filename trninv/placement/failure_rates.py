"""Read failure rates from a file, from the recorded events or from a published report (`rate_presets`).

A rate has 95 % confidence limits if the number of failures is known, as `trninv availability` computes them.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Annotated, Any, Final

from sqlalchemy import select

from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.failure_model import FAILURE_KINDS
from trninv.placement.rate_presets import PRESETS, InterruptionCause
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.questions.availability import MeanTime, measure_availability
from trninv.routing.snapshot import Snapshot

HISTORY: Final = "history"
SOURCES: Final = (HISTORY, *PRESETS)
"""What may stand for the text of a file."""
OTHER: Final = "other"
"""The kind of interruptions that belong to no part; they count per chip of a job."""
RATES_HELP: Final = (
    f"TOML tables {', '.join(FAILURE_KINDS[:-1])} or {FAILURE_KINDS[-1]}, with mtbf_hours and mttr_hours; or "
    f"{' or '.join(SOURCES)}"
)
SINCE_HELP: Final = "Start of the events that --rates history counts; by default the start of the history."
PESSIMISTIC_HELP: Final = "Use the limits of the 95 % intervals: the shortest MTBF, the longest MTTR."
_RATE_KEYS: Final = ("mtbf_hours", "mttr_hours")
MAX_RATES_LENGTH: Final = 10_000
"""Maximum length of the rates file in characters."""
_MIN_HOURS, _MAX_HOURS = 1e-9, 10**12
"""Maximum of ``mtbf_hours`` and ``mttr_hours``: longer than any part lasts."""
_HOUR: Final = 3600
_MICROS_PER_HOUR: Final = _HOUR * 10**6
_UNKNOWN: Final = MeanTime(None, None, None)


@dataclass(frozen=True, slots=True)
class RatesSource:
    """Where failure rates come from."""

    name: Annotated[str, "file, history or the name of a published report."]
    title: Annotated[str, "The file's author, the cluster and its period, or the title of the report."]
    quote: Annotated[str | None, "What the report says; else null."]
    note: Annotated[str | None, "What to know about it."]
    causes: Annotated[tuple[InterruptionCause, ...], "Interruptions by cause, if a report counts them."]

    def render(self) -> Rendered:
        """Yield the source as text; nothing for a file, because its user knows it."""
        if self.name != "file":
            yield f"rates: {self.title}" + (f": “{self.quote}”" if self.quote else "")
        if self.note:
            yield self.note
        for kind in dict.fromkeys(cause.kind for cause in self.causes):
            causes = [cause for cause in self.causes if cause.kind == kind]
            counts = ", ".join(f"{cause.cause} {cause.count}" for cause in causes)
            name = "other (no part)" if kind == OTHER else kind
            yield f"{name}: {sum(cause.count for cause in causes)} interruptions ({counts})"


@dataclass(frozen=True, slots=True)
class FailureRate:
    """Mean times between failures and to repair of one kind of part."""

    kind: Annotated[str, "Kind of part; other: interruptions that belong to no part, per chip."]
    failures: Annotated[int | None, "Counted failures; null for a file."]
    mtbf: Annotated[MeanTime, "Mean time between failures."]
    mttr: Annotated[MeanTime, "Mean time to repair."]

    def selected(self, *, pessimistic: bool) -> "SelectedRate | None":
        """Return the estimate or the worse limits; None if there is no mean time between failures."""
        seconds = self.mtbf.lower if pessimistic else self.mtbf.seconds
        repair = self.mttr.upper if pessimistic else self.mttr.seconds
        if not seconds:
            return None
        return SelectedRate(self, seconds / _HOUR, None if repair is None else repair / _HOUR)


@dataclass(frozen=True, slots=True)
class SelectedRate:
    """The mean times in hours with which to calculate; ``mttr_hours`` is None if no repair time is known."""

    rate: FailureRate
    mtbf_hours: float
    mttr_hours: float | None

    def unavailability(self, mission_time: float | None, repair_hours: float | None = None) -> float:
        """Return the probability that a part is down: in the long run, or after ``mission_time`` hours without repair.

        Raises
        ------
        InvalidArgumentError
            ``mission_time``, ``repair_hours`` and ``mttr_hours`` are all None.

        """
        if mission_time is not None:
            return 1 - exp(-mission_time / self.mtbf_hours)
        repair = repair_hours if self.mttr_hours is None else self.mttr_hours
        if repair is None:
            raise InvalidArgumentError(
                f"rates of {self.rate.kind}: no repair time is known; add mttr_hours to the file or --repair-hours; "
                "--mission HOURS assumes no repair"
            )
        return repair / (self.mtbf_hours + repair)


@dataclass(frozen=True, slots=True)
class FailureRates:
    """The failure rates of all kinds of parts, and their source."""

    source: RatesSource
    rates: tuple[FailureRate, ...]

    def select(self, *, pessimistic: bool) -> tuple[SelectedRate, ...]:
        """Return the rates to calculate with.

        Raises
        ------
        InvalidArgumentError
            Nothing has failed, or limits are requested and none are known.

        """
        selected = tuple(filter(None, (rate.selected(pessimistic=pessimistic) for rate in self.rates)))
        if selected:
            return selected
        if pessimistic:
            raise InvalidArgumentError(f"rates of {self.source.title} have no limits; omit --pessimistic")
        raise InvalidArgumentError(
            f"rates: nothing failed in the {self.source.title}; add --pessimistic to use the shortest MTBF that this "
            f"allows ({', '.join(self.uncounted(pessimistic=False))}), or choose other rates"
        )

    def uncounted(self, *, pessimistic: bool) -> tuple[str, ...]:
        """Return the kinds that never fail in a calculation, because no failure was observed."""
        return tuple(
            f"{rate.kind} {rate.mtbf}" for rate in self.rates if rate.selected(pessimistic=pessimistic) is None
        )


def read_rates(snapshot: Snapshot, scope: str, text: str, since: str | None) -> FailureRates:
    """Return the failure rates that ``text`` names or lists; ``since`` is the start of the events to count.

    Raises
    ------
    InvalidArgumentError, InvalidTimeError
        The text is neither a source nor valid TOML, or there is no history from ``since``.

    """
    source = text.strip().lower()
    if source != HISTORY and since is not None:
        raise InvalidArgumentError("--rates-since is the start of the history; use it with --rates history")
    if source == HISTORY:
        return _history_rates(snapshot, scope, since)
    if source in PRESETS:
        return _preset_rates(source)
    return FailureRates(RatesSource("file", "file", None, None, ()), parse_rates(text))


def _history_rates(snapshot: Snapshot, scope: str, since: str | None) -> FailureRates:
    """Return the rates of the parts of the scope's cluster, from its events."""
    cluster = TABLES["cluster"]
    place = resolve_place(snapshot.connection, scope)
    slug = snapshot.connection.scalar(select(cluster.c.slug).where(cluster.c.id == place.cluster_id))
    answer = measure_availability(snapshot.connection, str(slug), since)
    title = f"history of {slug} from {answer.since[:19]}Z to {answer.until[:19]}Z"
    counted = {kind.kind: FailureRate(kind.kind, kind.failures, kind.mtbf, kind.mttr) for kind in answer.kinds}
    source = RatesSource(HISTORY, title, None, "racks have no state, and so no rate", ())
    return FailureRates(source, tuple(counted[kind] for kind in FAILURE_KINDS if kind in counted))


def _preset_rates(name: str) -> FailureRates:
    preset = PRESETS[name]
    rates = []
    for kind, parts in preset.parts.items():
        failures = preset.interruptions(kind)
        observed = MeanTime.from_total(preset.hours * _MICROS_PER_HOUR * parts, failures)
        rates.append(FailureRate(kind, failures, observed, _UNKNOWN))
    return FailureRates(RatesSource(name, preset.title, preset.quote, preset.note, preset.causes), tuple(rates))


def parse_rates(text: str) -> tuple[FailureRate, ...]:
    """Parse rates in TOML: one table per kind of part, with ``mtbf_hours`` and optionally ``mttr_hours``.

    Raises
    ------
    InvalidArgumentError
        The text is empty, too long or invalid.

    """
    if len(text) > MAX_RATES_LENGTH:
        raise InvalidArgumentError(f"rates: {len(text):,} characters are too many; {MAX_RATES_LENGTH:,} are allowed")
    if re.fullmatch(r"\s*[\w.-]+\s*", text):
        raise InvalidArgumentError(f"rates: {text.strip()[:40]!r} is no source; use {' or '.join(SOURCES)}, or TOML")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgumentError(f"rates: {error}") from None
    except (ValueError, RecursionError):
        raise InvalidArgumentError("rates: a number has too many digits, or tables are nested too deeply") from None
    if not document:
        raise InvalidArgumentError(
            f"rates: the file has no rates; add a table such as [chip] with mtbf_hours = …, for any of "
            f"{', '.join(FAILURE_KINDS)}"
        )
    return tuple(
        sorted(
            (_parse_rate(kind, table) for kind, table in document.items()),
            key=lambda rate: FAILURE_KINDS.index(rate.kind),
        )
    )


def _parse_rate(kind: str, table: Any) -> FailureRate:  # any TOML value
    """Check and return the rate of one kind of part."""
    if kind not in FAILURE_KINDS:
        raise InvalidArgumentError(f"rates of {kind[:40]!r}: choose one of {', '.join(FAILURE_KINDS)}")
    if not isinstance(table, dict) or not {"mtbf_hours"} <= set(table) <= set(_RATE_KEYS):
        raise InvalidArgumentError(f"rates of {kind}: give mtbf_hours, and mttr_hours unless --mission is used")
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not _MIN_HOURS <= value <= _MAX_HOURS:
            raise InvalidArgumentError(
                f"rates of {kind}: {name} must be a number of hours, at least {_MIN_HOURS:g}, at most {_MAX_HOURS:,}"
            )
    mtbf, mttr = (MeanTime(table[key] * _HOUR, None, None) if key in table else _UNKNOWN for key in _RATE_KEYS)
    return FailureRate(kind, None, mtbf, mttr)


def render_rates(rates: Sequence[Any]) -> Iterator[RenderedTable]:  # Any: a class with the fields of FailureRate
    """Yield a table of counted rates with their limits; nothing for rates of a file."""
    if any(rate.failures is not None for rate in rates):
        yield RenderedTable(
            ["counted", "failures", "MTBF (95% limits)", "MTTR (95% limits)"],
            ([rate.kind, f"{rate.failures:,}", rate.mtbf, rate.mttr] for rate in rates),
        )
