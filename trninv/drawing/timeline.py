"""Draw unhealthy parts over time: a bar for each interval, with its worst count behind the counts at its end."""

from typing import Final

from trninv.drawing.svg import (
    DEGRADED,
    DOWN,
    HIGHLIGHT,
    MAINTENANCE,
    MUTED,
    SvgDocument,
    add_element,
    draw_label,
    draw_line,
)
from trninv.routing.questions.timeline import TimelineAnswer, TimelineBucket
from trninv.units import pluralize

_TIMELINE_WIDTH, _TIMELINE_HEIGHT, _MARGIN, _FOOTER_HEIGHT = 900.0, 200.0, 16.0, 44.0
_WORST_COLOR: Final = "#d9dde3"
_STATE_COLORS: Final = {"down": DOWN, "maintenance": MAINTENANCE, "degraded": DEGRADED}


def draw_timeline(answer: TimelineAnswer) -> str:
    """Return an SVG of a timeline."""
    document = SvgDocument(f"{answer.scope}: parts that are not up", f"{answer.since} to {answer.until}")
    step, max_count = (_TIMELINE_WIDTH - 2 * _MARGIN) / len(answer.buckets), max(answer.worst, 1)
    for index, bucket in enumerate(answer.buckets):
        _draw_bucket(document, bucket, _MARGIN + index * step, step, _TIMELINE_HEIGHT / max_count)
    draw_line(
        document.drawing, (_MARGIN, _TIMELINE_HEIGHT), (_TIMELINE_WIDTH - _MARGIN, _TIMELINE_HEIGHT), stroke=MUTED
    )
    draw_label(document.drawing, (_MARGIN, _TIMELINE_HEIGHT + 28), f"at most {pluralize(answer.worst, 'part')} at once")
    document.legend = [(color, f"{state} at the end") for state, color in _STATE_COLORS.items()]
    document.legend += [(_WORST_COLOR, "not up at worst"), (HIGHLIGHT, "something changed")]
    return document.render(0, 0, _TIMELINE_WIDTH, _TIMELINE_HEIGHT + _FOOTER_HEIGHT)


def _draw_bucket(document: SvgDocument, bucket: TimelineBucket, x: float, width: float, unit: float) -> None:
    title = f"{bucket.start} to {bucket.end}: at worst {bucket.worst.total:,} not up, at its end {bucket.unhealthy_at_end.total:,}"
    height = bucket.worst.total * unit
    if height:
        add_element(
            document.drawing,
            "rect",
            title,
            x=x,
            y=_TIMELINE_HEIGHT - height,
            width=width,
            height=height,
            fill=_WORST_COLOR,
        )
    y = _TIMELINE_HEIGHT
    for state, color in _STATE_COLORS.items():
        height = getattr(bucket.unhealthy_at_end, state) * unit
        y -= height
        if height:
            state_title = f"{title}; {getattr(bucket.unhealthy_at_end, state):,} {state}"
            add_element(document.drawing, "rect", state_title, x=x, y=y, width=width, height=height, fill=color)
    if bucket.events:
        center_x = x + width / 2
        draw_line(
            document.drawing,
            (center_x, _TIMELINE_HEIGHT + 2),
            (center_x, _TIMELINE_HEIGHT + 10),
            pluralize(bucket.events, "event"),
            stroke=HIGHLIGHT,
        )
