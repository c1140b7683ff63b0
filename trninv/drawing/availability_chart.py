"""Draw the answer of `availability` as an SVG chart, for its option `--svg`."""

from collections.abc import Sequence
from typing import Final

from trninv.drawing.svg import (
    INK,
    LINK_COLORS,
    MUTED,
    SvgDocument,
    add_element,
    draw_label,
    draw_line,
)
from trninv.routing.questions.availability import AvailabilityAnswer, KindAvailability

MAX_BARS: Final = 60
"""Most groups in a chart; if there are more, it shows the least available ones."""
_LABEL_WIDTH, _CHART_WIDTH, _VALUE_WIDTH, _ROW_HEIGHT, _BAR_HEIGHT = 300.0, 480.0, 250.0, 26.0, 12.0
_CAP_HALF_HEIGHT: Final = 5.0
"""Half the length of the short lines that end a confidence interval."""
_AXIS_STARTS: Final = (0.99999, 0.9999, 0.999, 0.99, 0.95, 0.9, 0.5)
"""Left ends of the axis to choose from: the first one below all confidence intervals, or else 0."""


def draw_availability(answer: AvailabilityAnswer) -> str:
    """Return an SVG with each group's inherent availability as a bar with its 95 % confidence interval."""
    groups = _least_available(answer.kinds)
    axis_start = next((start for start in _AXIS_STARTS if all(group.inherent.lower >= start for group in groups)), 0.0)
    caption = f"{answer.since} to {answer.until}; inherent availability, without planned work"
    document = SvgDocument(f"Availability of {answer.scope} by {answer.by.lower()}", caption)
    add_element(
        document.drawing, "desc"
    ).text = f"{len(groups)} bars from {_format_percent(axis_start)} to 100 %. {answer.definition}"
    document.legend = [
        (
            LINK_COLORS[0],
            "bar: MTBF / (MTBF + MTTR); line: 95 % confidence interval; no bar: no estimate yet",
        ),
    ]
    if len(groups) < len(answer.kinds):
        document.legend.append((MUTED, f"the {len(groups)} least available of {len(answer.kinds):,} groups"))
    for index in range(5):  # at the quarters of the axis
        _draw_tick(document, axis_start, axis_start + (1 - axis_start) * index / 4, len(groups))
    for index, group in enumerate(groups):
        _draw_availability_bar(document, axis_start, group, index * _ROW_HEIGHT + _ROW_HEIGHT)
    document.bounds = (0, 0, _LABEL_WIDTH + _CHART_WIDTH + _VALUE_WIDTH, (len(groups) + 1.5) * _ROW_HEIGHT)
    return document.to_file()


def _least_available(groups: Sequence[KindAvailability]) -> Sequence[KindAvailability]:
    """Return all groups, or the MAX_BARS with the lowest availability if there are more."""
    if len(groups) <= MAX_BARS:
        return groups
    ordered = sorted(
        groups, key=lambda group: (group.inherent.share is None, group.inherent.share, group.kind, group.name or "")
    )
    return ordered[:MAX_BARS]


def _draw_tick(document: SvgDocument, axis_start: float, share: float, rows: int) -> None:
    x = _x_of(axis_start, share)
    draw_line(document.drawing, (x, _ROW_HEIGHT * 0.7), (x, (rows + 1) * _ROW_HEIGHT), stroke=MUTED, stroke_width=0.5)
    draw_label(document.drawing, (x, _ROW_HEIGHT * 0.5), _format_percent(share), 11, MUTED, text_anchor="middle")


def _draw_availability_bar(document: SvgDocument, axis_start: float, group: KindAvailability, y: float) -> None:
    inherent, y_center = group.inherent, y + _ROW_HEIGHT / 2
    name = group.kind if group.name is None else f"{group.kind}, {group.name}"
    interval = f"{_format_percent(inherent.lower)} to {_format_percent(inherent.upper)}"
    estimate = f"{'no estimate' if inherent.share is None else _format_percent(inherent.share)} ({interval})"
    element = add_element(
        document.drawing, "g", f"{name}: {estimate}, {group.failures:,} failures of {group.parts:,} parts"
    )
    draw_label(element, (_LABEL_WIDTH - 10, y_center + 4), name, 12, INK, text_anchor="end")
    if inherent.share is not None:
        width = _x_of(axis_start, inherent.share) - _LABEL_WIDTH
        add_element(
            element,
            "rect",
            x=_LABEL_WIDTH,
            y=y_center - _BAR_HEIGHT / 2,
            width=width,
            height=_BAR_HEIGHT,
            fill=LINK_COLORS[0],
        )
    x_low, x_high = _x_of(axis_start, inherent.lower), _x_of(axis_start, inherent.upper)
    draw_line(element, (x_low, y_center), (x_high, y_center), stroke=INK, stroke_width=1.5)
    for x in (x_low, x_high):
        draw_line(
            element, (x, y_center - _CAP_HALF_HEIGHT), (x, y_center + _CAP_HALF_HEIGHT), stroke=INK, stroke_width=1.5
        )
    draw_label(element, (_LABEL_WIDTH + _CHART_WIDTH + 12, y_center + 4), estimate, 11)


def _x_of(axis_start: float, share: float) -> float:
    """Return the x of a share of time on the axis from ``axis_start`` to 1."""
    return _LABEL_WIDTH + _CHART_WIDTH * (share - axis_start) / (1 - axis_start)


def _format_percent(share: float) -> str:
    return f"{share * 100:.6g} %"
