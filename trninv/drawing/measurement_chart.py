"""Draw measured bandwidths by message size, each as a share of the limit of the wiring, as an SVG chart."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import ceil, floor, log2
from statistics import median
from typing import Final

from trninv.drawing.svg import DOWN, INK, LINK_COLORS, MUTED, SvgDocument, add_element, draw_label, draw_line
from trninv.routing.questions.measured_bandwidth import MeasuredBandwidthAnswer, MeasuredRun
from trninv.units import Capacity, pluralize

_LEFT, _TOP, _HEIGHT, _RIGHT = 56.0, 24.0, 260.0, 24.0
_RADIUS: Final = 3.5
_LABELS: Final = 8
"""Most sizes that the axis names."""
_DASHES: Final = ("none", "6 3", "2 3")
_Series = tuple[str, str]


def draw_measurements(answer: MeasuredBandwidthAnswer, width: float = 900) -> SvgDocument:
    """Draw a point for each measurement with a limit, and a line through the medians of each operation and type.

    The medians are those of possible measurements.
    """
    runs = [run for run in answer.runs if run.share is not None]
    document = SvgDocument(
        f"Measured bandwidth of {answer.scope}",
        f"{pluralize(len(runs), 'measurement')} as shares of the limit of the wiring at their time, by message size",
    )
    document.bounds = (0, 0, width, _TOP + _HEIGHT + 40 if runs else 0)
    if not runs:
        return document
    exponents = [log2(run.size) for run in runs]
    chart = _Chart(width, floor(min(exponents)), max(ceil(max(exponents)), floor(min(exponents)) + 1))
    chart.ceiling = max(1.0, *(_share(run) for run in runs)) * 1.05
    _draw_axes(document, chart)
    for index, (name, members) in enumerate(sorted(_by_series(runs).items())):
        color, dashes = LINK_COLORS[index % len(LINK_COLORS)], _DASHES[index // len(LINK_COLORS) % len(_DASHES)]
        medians = list(_medians([run for run in members if run.breaks is None]))
        points = " ".join(f"{chart.x(size):.1f},{chart.y(share):.1f}" for size, share in medians)
        style = {} if dashes == "none" else {"stroke_dasharray": dashes}
        add_element(document.drawing, "polyline", points=points, fill="none", stroke=color, stroke_width=1.5, **style)
        for run in members:
            _draw_run(document, chart, run, color)
        document.legend.append((color, " ".join(filter(None, name)) + (", dashed" if style else "")))
    if answer.impossible:
        document.legend.append((DOWN, "impossible: above the limit"))
    return document


class _Chart:
    """The scales of a chart: powers of two on the horizontal axis, shares of the limit on the vertical one."""

    def __init__(self, width: float, low: int, high: int) -> None:
        self.width, self.low, self.high, self.ceiling = width, low, high, 1.0

    def x(self, size: int) -> float:
        """Return the x of a message size in bytes."""
        return _LEFT + (self.width - _LEFT - _RIGHT) * (log2(size) - self.low) / (self.high - self.low)

    def y(self, share: float) -> float:
        """Return the y of a share of the limit."""
        return _TOP + _HEIGHT * (1 - share / self.ceiling)


def _share(run: MeasuredRun) -> float:
    return run.share or 0.0


def _by_series(runs: Sequence[MeasuredRun]) -> dict[_Series, list[MeasuredRun]]:
    series = defaultdict[_Series, list[MeasuredRun]](list)
    for run in runs:
        series[run.operation, run.data_type or ""].append(run)
    return series


def _medians(runs: Sequence[MeasuredRun]) -> Iterator[tuple[int, float]]:
    """Yield the median share of each size, by size."""
    shares = defaultdict[int, list[float]](list)
    for run in runs:
        shares[run.size].append(_share(run))
    for size in sorted(shares):
        yield size, median(shares[size])


def _draw_axes(document: SvgDocument, chart: _Chart) -> None:
    for percent in range(0, 101, 25):
        y = chart.y(percent / 100)
        color, stroke = (INK, 1.5) if percent == 100 else (MUTED, 0.5)  # noqa: PLR2004 # the limit
        draw_line(document.drawing, (_LEFT, y), (chart.width - _RIGHT, y), stroke=color, stroke_width=stroke)
        draw_label(document.drawing, (_LEFT - 8, y + 4), f"{percent} %", 11, MUTED, text_anchor="end")
    step = max(1, ceil((chart.high - chart.low) / _LABELS))
    for exponent in range(chart.low, chart.high + 1, step):
        x = chart.x(2**exponent)
        draw_label(
            document.drawing, (x, _TOP + _HEIGHT + 20), str(Capacity(2**exponent)), 11, MUTED, text_anchor="middle"
        )


def _draw_run(document: SvgDocument, chart: _Chart, run: MeasuredRun, color: str) -> None:
    place = run.address if run.peer is None else f"{run.address} to {run.peer}"
    title = (
        f"{place}: {run.operation} of {run.size}, {run.bandwidth / 10**9:,.4g} GB/s, {_share(run):.1%} of {run.limit}, "
        f"{run.measured_at[:19]}Z"
    )
    fill = DOWN if run.breaks else color
    add_element(document.drawing, "circle", title, cx=chart.x(run.size), cy=chart.y(_share(run)), r=_RADIUS, fill=fill)
