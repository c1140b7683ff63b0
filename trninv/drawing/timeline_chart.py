"""Draw unhealthy parts and changes over time, for the explorer and for `trninv timeline --svg`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any, Final
from xml.etree.ElementTree import Element

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.drawing.svg import (
    DEGRADED,
    DOWN,
    INACTIVE,
    MAINTENANCE,
    MUTED,
    PANEL_STROKE,
    Style,
    SvgDocument,
    add_element,
    add_link,
    draw_label,
    draw_line,
    format_number,
)
from trninv.drawing.symbols import SEVERITY, draw_state_symbol
from trninv.history.events import Event, list_events
from trninv.history.timeline import UNHEALTHY_STATES, RecordedPlace, TimelineInterval, timeline_intervals
from trninv.inventory.address.lookup import resolve, resolve_place
from trninv.units import pluralize

MAX_CLUSTERS, MAX_CHANGES, INTERVALS = 16, 500, 120
_AXIS_WIDTH, _PADDING, _MARK_SPACING, _TICK_SPACING, _MIN_BAR_HEIGHT = 52.0, 18.0, 26.0, 90.0, 2.0
_EQUAL_HEIGHT: Final = 20.0
_STATE_COLORS: Final = {"degraded": DEGRADED, "down": DOWN, "maintenance": MAINTENANCE}
_LED_TO: Final = {"down": "went down", "degraded": "degraded", "maintenance": "into maintenance", "up": "up again"}
_WORST_COLOR: Final = "var(--link-idle)"
_MINUTES: Final = (1, 5, 15, 60, 240, 720, 1_440, 2_880, 10_080, 43_200, 129_600)
"""Distances of two ticks to choose from."""
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class History:
    """Unhealthy parts of a place, or of all clusters, and changes, from ``since`` to ``until``.

    Attributes
    ----------
    is_short
        Whether the history begins at ``since``, later than asked.
    intervals
        Those of equal length; none if no history is recorded.
    changes
        Changes of states, the oldest first: the last MAX_CHANGES of them if ``is_cut``.
    omitted
        Number of clusters that are not counted.

    """

    title: str
    since: datetime
    until: datetime
    is_short: bool
    intervals: Sequence[TimelineInterval]
    changes: Sequence[Event]
    is_cut: bool
    omitted: int

    @property
    def worst(self) -> int:
        """The most unhealthy parts at once."""
        return max((interval.worst.all for interval in self.intervals), default=0)


def read_history(
    connection: Connection, scope: str | None, since: datetime | None, until: datetime, intervals: int = INTERVALS
) -> History:
    """Read the history of a place or of all clusters, from its start if that is later than ``since``.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    place = resolve(connection, scope) if scope else None
    cluster = TABLES["cluster"]
    query = select(cluster.c.slug, cluster.c.known_since, cluster.c.known_from).order_by(cluster.c.id)
    query = query.where(cluster.c.known_since.is_not(None))
    clusters = connection.execute(query.where(cluster.c.id == place.cluster_id) if place else query).all()
    start = min((datetime.fromisoformat(row.known_since) for row in clusters), default=until)
    begin = max(since or start, start)
    recorded = [
        RecordedPlace(
            place or resolve_place(connection, row.slug), row.known_from, datetime.fromisoformat(row.known_since)
        )
        for row in clusters[:MAX_CLUSTERS]
    ]
    counted = timeline_intervals(connection, recorded, begin, max(until, begin), intervals) if recorded else []
    filters: dict[str, Any] = {"since": begin, "until": until, "states_only": True}
    changes = list(list_events(connection, place.address if place else None, limit=MAX_CHANGES + 1, **filters))
    return History(
        title=f"{place.address if place else 'all clusters'}: unhealthy parts",
        since=begin,
        until=until,
        is_short=since is not None and since < start,
        intervals=counted,
        changes=sorted(changes[:MAX_CHANGES], key=_time_of),
        is_cut=len(changes) > MAX_CHANGES,
        omitted=max(0, len(clusters) - MAX_CLUSTERS),
    )


def draw_timeline(history: History, width: float = 900, height: float = 200) -> SvgDocument:
    """Return bars of the unhealthy parts in each interval, behind them the most at once, and marks of changes below.

    ``height`` is that of the bars. Marks lead to the time of their last change. Bars that say the same all along are
    low.
    """
    if history.worst and len({(interval.worst.all, interval.at_end.counts) for interval in history.intervals}) == 1:
        height = min(height, _EQUAL_HEIGHT)
    document = SvgDocument(history.title, _summarize(history))
    root, span = document.drawing, max(history.until - history.since, timedelta.resolution)

    def x_of(time: datetime) -> float:
        share = (min(max(time, history.since), history.until) - history.since) / span
        return _AXIS_WIDTH + share * (width - _AXIS_WIDTH - _PADDING)

    _draw_axes(root, (_AXIS_WIDTH, width - _PADDING), height, history.worst)
    for _, run in groupby(history.intervals, lambda interval: (interval.worst.all, interval.at_end.counts)):
        intervals = list(run)
        # whole units, since the pixels between two bars that meet within one would look like a recovery
        ends = round(x_of(intervals[0].begin)), round(x_of(intervals[-1].end))
        _draw_intervals(root, intervals, ends, height, max(history.worst, 1))
    marks = list(_merge_changes(history.changes, span * (_MARK_SPACING / width)))
    for changes in marks:
        _draw_mark(root, changes, (x_of(_time_of(changes[0])), height + 13))
    for time, text in _ticks(history.since, history.until, max(2, int(width / _TICK_SPACING))):
        draw_label(root, (x_of(time), height + 36), text, 11, MUTED, text_anchor="middle")
    drawn = {name for name in _STATE_COLORS for interval in history.intervals if _count_at_end(interval, name)}
    document.legend = [(color, state) for state, color in _STATE_COLORS.items() if state in drawn]
    if history.worst:
        document.legend.append((_WORST_COLOR, "most at once"))
    for state in sorted({_worst_after(changes) for changes in marks}, key=SEVERITY.index):
        document.legend.append((partial(_draw_centered, state), _LED_TO[state]))
    if (most := max(marks, key=len, default=[])) and len(most) > 1:
        document.legend.append((partial(_draw_glyph, most[:2]), "2 changes of parts close together, the worst"))
    # above the bars, the explorer writes the time of its cursor
    document.bounds = (0, -20, width, height + 44)
    document.data = {
        "since": format_time(history.since),
        "until": format_time(history.until),
        "height": format_number(height),
        "counts": " ".join(str(interval.worst.all) for interval in history.intervals),
        "changes": " ".join(format_time(_time_of(change)) for change in history.changes),
    }
    return document


def format_time(time: datetime) -> str:
    """Return a time in UTC, as addresses of the explorer's pages have it."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _summarize(history: History) -> str:
    if not history.intervals:
        return "No history is recorded."
    worst = f"At most {pluralize(history.worst, 'part')} at once" if history.worst else "Every part was up"
    sentences = [f"{worst} since {history.since:%m-%d %H:%M}." if history.is_short else f"{worst}."]
    if history.worst:
        length = history.intervals[0].end - history.intervals[0].begin
        sentences.append(
            f"Each bar is {_format_length(length)}: in color, unhealthy parts at its end; in gray, the most at once."
        )
    if history.is_cut:
        sentences.append(f"Only the last {MAX_CHANGES} changes are marked.")
    if history.omitted:
        sentences.append(f"{pluralize(history.omitted, 'cluster')} omitted.")
    return " ".join(sentences)


def _format_length(length: timedelta) -> str:
    """Return a length in its largest unit and the next one: 1 h 24 min."""
    rest, words = round(length.total_seconds()), list[str]()
    for name, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or words:
            words.append(f"{count} {name}" if count else "")
    return " ".join(filter(None, words[:2])) or "less than 1 s"


def _draw_axes(root: Element, ends: tuple[float, float], height: float, worst: int) -> None:
    """Draw the lines of no and of the most unhealthy parts between two x, with their numbers at the left."""
    for count in dict.fromkeys((0, worst)):
        y = 0.0 if count else height
        draw_line(root, (ends[0], y), (ends[1], y), stroke=PANEL_STROKE if count else INACTIVE)
        draw_label(root, (ends[0] - 6, y + 4), f"{count:,}", 11, MUTED, text_anchor="end")
    draw_label(root, (0, height + 36), "UTC", 11, MUTED)


def _draw_glyph(changes: Sequence[Event], root: Element, center: tuple[float, float]) -> Element:
    """Draw the worst state that changes led to, and their number if there are several."""
    entry = add_element(root, "g")
    x, y = center
    draw_state_symbol(entry, (x - 4 if len(changes) > 1 else x, y), _worst_after(changes))
    if len(changes) > 1:
        draw_label(entry, (x + 3, y + 4), str(len(changes)), 11)
    return entry


def _draw_centered(state: str, root: Element, center: tuple[float, float]) -> Element:
    entry = add_element(root, "g")
    draw_state_symbol(entry, center, state)
    return entry


def _worst_after(changes: Sequence[Event]) -> str:
    return min(map(_state_after, changes), key=SEVERITY.index)


def _count_at_end(interval: TimelineInterval, state: str) -> int:
    return interval.at_end.counts[UNHEALTHY_STATES.index(state)]


def _draw_intervals(
    root: Element, intervals: Sequence[TimelineInterval], ends: tuple[float, float], height: float, worst: int
) -> None:
    """Draw intervals with equal counts as one bar between two x; ``worst`` is the number that fills the height."""
    interval = intervals[0]
    if not interval.worst.all:
        return
    counts = [(state, _count_at_end(interval, state)) for state in _STATE_COLORS]
    at_end = ", ".join(f"{count:,} {state}" for state, count in counts if count) or "none"
    times = f"{interval.begin:%Y-%m-%d %H:%M} to {intervals[-1].end:%Y-%m-%d %H:%M} UTC"
    group = add_element(
        root,
        "g",
        f"{times}: at most {interval.worst.all:,} unhealthy, {at_end} at the end",
        shape_rendering="crispEdges",
    )

    def draw_bar(bottom: float, count: int, color: str) -> float:
        size = max(height * count / worst, _MIN_BAR_HEIGHT)
        box: Style = {"x": ends[0], "y": bottom - size, "width": ends[1] - ends[0], "height": size}
        add_element(group, "rect", **box, fill=color)
        return bottom - size

    draw_bar(height, interval.worst.all, _WORST_COLOR)
    top = height
    for state, count in counts:
        if count:
            top = draw_bar(top, count, _STATE_COLORS[state])


def _time_of(change: Event) -> datetime:
    return datetime.fromisoformat(change.at)


def _state_after(change: Event) -> str:
    return change.after.state if change.after else "up"


def _merge_changes(changes: Sequence[Event], distance: timedelta) -> Iterator[list[Event]]:
    """Yield groups of changes, each of which lies within a distance after the first of its group."""
    group: list[Event] = []
    for change in changes:
        if group and _time_of(change) - _time_of(group[0]) >= distance:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _draw_mark(root: Element, changes: Sequence[Event], center: tuple[float, float]) -> None:
    """Draw the worst state that changes led to, and their number, as a link to the time of the last one."""
    last = changes[-1]
    time = f"{_time_of(last):%Y-%m-%d %H:%M:%S} UTC"
    before = last.before.state if last.before else "up"
    title = f"{pluralize(len(changes), 'change')} up to {time}"
    if len(changes) == 1:
        title = f"{last.address}: {before} → {_state_after(last)}, {time}: {last.why}"
    mark = add_link(root, "", f"Show {title}", {"asof": format_time(_time_of(last))})
    x, y = center
    add_element(mark, "rect", x=x - 12, y=y - 12, width=24.0, height=24.0, fill="transparent")
    _draw_glyph(changes, mark, center)


def _ticks(since: datetime, until: datetime, count: int) -> Iterator[tuple[datetime, str]]:
    """Yield round times between two times, at most two more than ``count``, and their labels."""
    steps = (timedelta(minutes=minutes) for minutes in _MINUTES)
    step = next((step for step in steps if (until - since) / step <= count + 1), (until - since) / count)
    time = since + (-(since - _EPOCH) % step)
    while time <= until:
        is_midnight = not (time - _EPOCH) % _DAY
        yield time, f"{time:%m-%d}" if is_midnight or step >= _DAY else f"{time:%H:%M}"
        time += step
