"""The availability of groups of parts as bars, with what is known of it for sure."""

from collections.abc import Sequence
from typing import Final

from trninv.drawing.svg import INK, LINKS, QUIET, Picture, add, label, line
from trninv.routing.questions.availability import AvailabilityAnswer, KindAvailability

MOST: Final = 60
"""Groups that a chart shows, the worst first where there are more."""
_LEFT, _WIDTH, _RIGHT, _ROW, _BAR = 300.0, 480.0, 250.0, 26.0, 12.0
_ENDS: Final = 5.0
_FLOORS: Final = (0.99999, 0.9999, 0.999, 0.99, 0.95, 0.9, 0.5)


def draw(answer: AvailabilityAnswer) -> str:
    """The inherent availability of each group as a bar, with its 95 % confidence interval."""
    shown = _worst(answer.kinds)
    floor = next((each for each in _FLOORS if all(of.inherent.lower >= each for of in shown)), 0.0)
    caption = f"{answer.since} to {answer.until}; inherent availability, planned work left out"
    picture = Picture(f"Availability of {answer.of} by {answer.by.lower()}", caption)
    add(picture.drawing, "desc").text = f"{len(shown)} bars from {_percent(floor)} to 100 %. {answer.definition}"
    picture.legend = [
        (LINKS[0], "bar: MTBF / (MTBF + MTTR); line with ends: its 95 % confidence interval; no bar: no estimate yet"),
    ]
    if len(shown) < len(answer.kinds):
        picture.legend.append((QUIET, f"the {len(shown)} least available of {len(answer.kinds):,} groups"))
    for at in range(5):
        _tick(picture, floor, floor + (1 - floor) * at / 4, len(shown))
    for at, of in enumerate(shown):
        _bar(picture, floor, of, at * _ROW + _ROW)
    return picture.text(0, 0, _LEFT + _WIDTH + _RIGHT, (len(shown) + 1.5) * _ROW)


def _worst(kinds: Sequence[KindAvailability]) -> Sequence[KindAvailability]:
    if len(kinds) <= MOST:
        return kinds
    least = sorted(kinds, key=lambda of: (of.inherent.share is None, of.inherent.share, of.kind, of.name or ""))
    return least[:MOST]


def _tick(picture: Picture, floor: float, share: float, rows: int) -> None:
    x = _x(floor, share)
    line(picture.drawing, (x, _ROW * 0.7), (x, (rows + 1) * _ROW), stroke=QUIET, stroke_width=0.5)
    label(picture.drawing, (x, _ROW * 0.5), _percent(share), 11, QUIET, text_anchor="middle")


def _bar(picture: Picture, floor: float, of: KindAvailability, y: float) -> None:
    known, middle = of.inherent, y + _ROW / 2
    name = of.kind if of.name is None else f"{of.kind}, {of.name}"
    says = f"{_percent(known.lower)} to {_percent(known.upper)}"
    said = f"{'no estimate' if known.share is None else _percent(known.share)} ({says})"
    group = add(picture.drawing, "g", f"{name}: {said}, {of.failures:,} failures of {of.parts:,} parts")
    label(group, (_LEFT - 10, middle + 4), name, 12, INK, text_anchor="end")
    if known.share is not None:
        width = _x(floor, known.share) - _LEFT
        add(group, "rect", x=_LEFT, y=middle - _BAR / 2, width=width, height=_BAR, fill=LINKS[0])
    low, high = _x(floor, known.lower), _x(floor, known.upper)
    line(group, (low, middle), (high, middle), stroke=INK, stroke_width=1.5)
    for x in (low, high):
        line(group, (x, middle - _ENDS), (x, middle + _ENDS), stroke=INK, stroke_width=1.5)
    label(group, (_LEFT + _WIDTH + 12, middle + 4), said, 11)


def _x(floor: float, share: float) -> float:
    return _LEFT + _WIDTH * (share - floor) / (1 - floor)


def _percent(share: float) -> str:
    return f"{share * 100:.6g} %"
