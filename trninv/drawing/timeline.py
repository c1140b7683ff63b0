"""Parts that are not up over time: a bar for each part of the time, its worst behind what it ends with."""

from typing import Final

from trninv.drawing.svg import BAD, MARK, QUIET, REPAIR, WORN, Picture, add, label, line
from trninv.routing.questions.timeline import TimelineAnswer, TimelineBucket
from trninv.units import counted

_WIDTH, _HEIGHT, _EDGE, _FOOT = 900.0, 200.0, 16.0, 44.0
_PALE: Final = "#d9dde3"
_STATES: Final = {"down": BAD, "maintenance": REPAIR, "degraded": WORN}


def picture(of: TimelineAnswer) -> str:
    """A picture as SVG."""
    made = Picture(f"{of.of}: parts that are not up", f"{of.since} to {of.until}")
    step, most = (_WIDTH - 2 * _EDGE) / len(of.buckets), max(of.worst, 1)
    for number, bucket in enumerate(of.buckets):
        _bar(made, bucket, _EDGE + number * step, step, _HEIGHT / most)
    line(made.drawing, (_EDGE, _HEIGHT), (_WIDTH - _EDGE, _HEIGHT), stroke=QUIET)
    label(made.drawing, (_EDGE, _HEIGHT + 28), f"at most {counted(of.worst, 'part')} at once")
    made.legend = [(colour, f"{state} at the end") for state, colour in _STATES.items()]
    made.legend += [(_PALE, "not up at worst"), (MARK, "something changed")]
    return made.text(0, 0, _WIDTH, _HEIGHT + _FOOT)


def _bar(made: Picture, of: TimelineBucket, x: float, width: float, unit: float) -> None:
    says = f"{of.begin} to {of.end}: at worst {of.worst.total:,} not up, at its end {of.at_end.total:,}"
    high = of.worst.total * unit
    if high:
        add(made.drawing, "rect", says, x=x, y=_HEIGHT - high, width=width, height=high, fill=_PALE)
    y = _HEIGHT
    for state, colour in _STATES.items():
        high = getattr(of.at_end, state) * unit
        y -= high
        if high:
            title = f"{says}; {getattr(of.at_end, state):,} {state}"
            add(made.drawing, "rect", title, x=x, y=y, width=width, height=high, fill=colour)
    if of.events:
        middle = x + width / 2
        line(made.drawing, (middle, _HEIGHT + 2), (middle, _HEIGHT + 10), counted(of.events, "event"), stroke=MARK)
