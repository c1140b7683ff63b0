"""Measure the explorer in chromium: the first rendering of a fleet, frames while panning, a path after a click."""

import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.measure import NAME, Row, seed_cluster
from browsing import FLAGS
from serving import serving

_TIMES = 5
_FRAMES = 120
"""Frames of one measurement."""
_INTERVALS = """frames => new Promise(done => {
    const times = [];
    const next = now => times.push(now) > frames ? done(times.slice(1).map((t, i) => t - times[i])) : tick();
    const tick = () => { %s; requestAnimationFrame(next) };
    tick();
})"""
"""JavaScript: the milliseconds between frames, with an action before each, which replaces %s."""
_MOVE = """(() => {
    const canvas = document.querySelector('canvas'), step = times.length;
    canvas.dispatchEvent(new PointerEvent('pointermove', {
        pointerId: 1, clientX: 400 + step % 50 * 4, clientY: 300 + step % 40 * 3, bubbles: true }));
})()"""


_CLICKS = 20
_AT_ONCE = 0.2
"""Seconds within which people perceive the response to a click as instant."""
_ANSWERED = """to => new Promise(done => {
    const start = performance.now();
    const look = () => document.querySelector('.wire.path') && document.querySelector('.answers .hops')
        && [...document.querySelectorAll('.answers dt')].some(name => name.textContent === 'Maximum flow')
        ? done((performance.now() - start) / 1000) : requestAnimationFrame(look);
    document.querySelector(`.wiring [data-at$="/${to}"]`).dispatchEvent(new MouseEvent('click', { bubbles: true }));
    look();
})"""
"""JavaScript: the seconds from a click on a second chip until the path, its links and the maximum flow are shown."""


def explorer_rows(directory: Path, domains: int) -> Iterator[Row]:
    url = f"sqlite:///{directory}/fleet.db"
    seed_cluster(url, domains)
    chromium = shutil.which("chromium")
    if chromium is None:
        print("chromium is not installed: apt-get install chromium")
        return
    with serving(url) as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        first, empty = [], []
        for _ in range(_TIMES):
            first.append(_rendering_seconds(page, f"{service}/#/cluster/{NAME}", ".keys"))
            empty.append(_rendering_seconds(page, f"{service}/#/nothing", ".failure"))
        rendering, empty_page = statistics.median(first), statistics.median(empty)
        yield Row("first rendering of all chips", rendering, empty_page, "an empty page")
        page.goto(f"{service}/#/cluster/{NAME}")
        page.wait_for_selector(".keys")
        page.mouse.move(500, 400)
        page.mouse.down()
        moved, still = [], []
        for _ in range(3):
            still += page.evaluate(_INTERVALS % "", _FRAMES)
            moved += page.evaluate(_INTERVALS % _MOVE, _FRAMES)
        page.mouse.up()
        assert "zoom=" in page.evaluate("location.hash"), "the page did not pan"
        at_rest = "a frame of the idle page"
        yield Row("frame while panning", statistics.median(moved), statistics.median(still), at_rest, 1.1, "ms")
        yield Row("frame while panning, p95", _p95(moved), _p95(still), at_rest, None, "ms")
        for scenario, options in (("", ""), (", scenario with a chip down", "&down=s0/c1")):
            durations = sorted(_click_chips(page, f"#/domain/{NAME}/d0?from=s0/c0{options}"))
            for name, seconds in (("", statistics.median(durations)), (f", the slowest of {_CLICKS}", durations[-1])):
                yield Row(f"a path after a click{scenario}{name}", seconds, _AT_ONCE, "perceived as instant", 1.0)
        browser.close()


def _click_chips(page: Page, location: str) -> Iterator[float]:
    """Click one chip after another and yield the seconds until each path is shown."""
    for click in range(_CLICKS):
        page.evaluate("at => { location.hash = at }", location)
        page.wait_for_selector(".wiring")
        for selector in (".wire.path", "main [aria-busy=true]"):
            page.locator(selector).first.wait_for(state="detached")
        yield float(page.evaluate(_ANSWERED, f"s{1 + click % 3}/c{click % 16}"))


def _p95(frames: list[float]) -> float:
    return statistics.quantiles(frames, n=20)[-1]


def _rendering_seconds(page: Page, url: str, until: str) -> float:
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(until)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.perf_counter() - start
