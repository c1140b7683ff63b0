"""The timeline: how high its bars are, and what is written around them."""

from datetime import UTC, datetime, timedelta

import pytest

from trninv.drawing.timeline_chart import History, draw_timeline
from trninv.history.timeline import TimelineInterval, UnhealthyCounts

START = datetime(2026, 1, 1, tzinfo=UTC)


def history(*unhealthy: int, length: timedelta = timedelta(hours=1)) -> History:
    counts = [UnhealthyCounts((0, count, 0), count) for count in unhealthy]
    hours = [START + place * length for place in range(len(counts) + 1)]
    intervals = [
        TimelineInterval(begin, end, count, count, 0)
        for begin, end, count in zip(hours[:-1], hours[1:], counts, strict=True)
    ]
    return History("t", START, hours[-1], is_short=False, intervals=intervals, changes=[], is_cut=False, omitted=0)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(milliseconds=8), "less than 1 s"),
        (timedelta(seconds=30), "30 s"),
        (timedelta(minutes=12), "12 min"),
        (timedelta(minutes=84), "1 h 24 min"),
        (timedelta(hours=6), "6 h"),
        (timedelta(days=2, hours=3, minutes=9), "2 d 3 h"),
    ],
)
def test_a_bar_is_as_long_as_its_words(length: timedelta, words: str) -> None:
    assert f"Each bar is {words}: " in draw_timeline(history(1, length=length)).caption


@pytest.mark.parametrize(("unhealthy", "height"), [((1, 1, 1), "20"), ((0, 1, 1), "72"), ((0, 0, 0), "72")])
def test_bars_that_say_the_same_all_along_are_low(unhealthy: tuple[int, ...], height: str) -> None:
    assert draw_timeline(history(*unhealthy), height=72).data["height"] == height


def test_a_time_at_the_end_is_whole() -> None:
    document = draw_timeline(history(*[1] * 8), width=320)
    texts = [text for text in document.drawing.iter("text") if text.get("text-anchor") == "middle"]
    assert texts[-1].text == "08:00"
    assert float(texts[-1].get("x", "")) + 11 * 0.62 * len("08:00") / 2 <= 320
