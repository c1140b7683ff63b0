"""Whatever is clicked, and whatever address is typed: no message on the console, and words to act on."""

import random
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from browsing import Open, Watched, documented, settled

pytestmark = pytest.mark.slow

CLICKS = 120
EACH = 20
"""Clicks in a row from where a page began."""
ADDRESSES = 50
CLICKABLE = """seed => {
    const leaves = link => link.hasAttribute('href')
        && new URL(link.getAttribute('href'), location.href).origin !== location.origin
    const found = [...document.querySelectorAll('a, button, input, select, summary, [role=button], canvas, svg, th')]
        .filter(each => each.checkVisibility() && !leaves(each))
    const one = found[seed % found.length]
    if (!one) return null
    one.scrollIntoView({ block: 'center' })
    const box = one.getBoundingClientRect()
    const within = (from, to) => from + (to - from) * ((seed >> 8) % 97 + 1) / 99
    const at = [within(Math.max(box.left, 0), Math.min(box.right, innerWidth)),
                within(Math.max(box.top, 0), Math.min(box.bottom, innerHeight))]
    const hit = document.elementFromPoint(...at)?.closest('a')
    return hit && leaves(hit) ? null : at
}"""
"""Where a link, button or picture of the page can be clicked, which leads to no other site."""


def _stay(route: Route) -> None:
    """Let GraphiQL not take the explorer's place: an answer without content leaves the page as it is."""
    if route.request.is_navigation_request():
        route.fulfill(status=204)
    else:
        route.continue_()


def test_random_clicks_break_nothing(opened: Open) -> None:
    chance = random.Random(19)
    places = documented()
    page = opened()
    page.context.on("page", lambda window: window.close())  # that Shift opened
    page.route("**/graphql", _stay)
    page.route("**/docs/**", lambda route: route.fulfill(status=204))  # whose words are not the explorer's
    for click in range(CLICKS):
        if click % EACH == 0:
            page.evaluate("to => { location.hash = to }", places[click // EACH % len(places)])
            settled(page)
        at = page.evaluate(CLICKABLE, chance.getrandbits(30))
        if at is None:
            continue
        modifier = chance.choice(["", "", "Shift"])
        if modifier:
            page.keyboard.down(modifier)
        page.mouse.click(*at)
        if modifier:
            page.keyboard.up(modifier)
        page.keyboard.press(chance.choice(["Escape", "ArrowRight", "ArrowDown", "n", "+", "Tab"]))
        says(page)


def hostile(chance: random.Random) -> Iterator[str]:
    """Addresses that nobody means: unknown, huge, encoded, of scripts, with options of other types."""
    views = [*sorted({re.split(r"[/?]", at[2:])[0] for at in documented()}), "nothing", "__proto__", "constructor"]
    names = [
        "", "nothing", "u-trn2x64", "u-trn2x64/d0", "u-trn2x64/d99999999999999999999", "lab/d0/s0/c3", "@", "@nothing",
        "..%2f..%2fgraphql", "%00", "%E0%A4%A", "%", "a" * 20_000, "/" * 500, "<script>hit=1</script>", "--", "x--y--z",
        "javascript:hit=1", "'; DROP TABLE node; --", "\u202eabc", "🂡" * 50, "u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c0",
        quote("<img src=x onerror=hit=1>"), "toString", "null", "-1", "lab?lab", "#/#/", "lab/", " lab ", "LAB",
    ]  # fmt: skip
    options = [
        "asof=", "asof=yesterday", "asof=-1", "asof=99999999999999999999", "asof=2026-13-45T99:99:99Z", "sel=", "sel=x",
        "sel=<b>", "sel=s1/c5--", "from=&to=", "from=s99/c99&to=toString", "down=,,,", f"down={'s0/c0,' * 3000}",
        "show=__proto__", "view=4d", "yaw=1e999&pitch=NaN", "scale=-1&x=1e300&y=", "color=constructor", "of=,,a,%",
        "only=x", "sort=--", "where=%27", "in=nothing", "fit=chips:-1", "at=d-1&zoom=Infinity", "a" * 20_000, "&&&==",
        "%E0%A4%A=%E0%A4%A", "toString=1&__proto__=2", "as=then", "fabric=maybe", "generation=" + "é" * 5_000,
    ]  # fmt: skip
    for _ in range(ADDRESSES):
        query = "&".join(chance.sample(options, chance.randrange(3)))
        yield f"#/{chance.choice(views)}/{chance.choice(names)}{'?' * bool(query)}{query}"


def test_hostile_addresses_open_pages_with_words_to_act_on(opened: Open, watched: Watched) -> None:
    page = opened()
    for at in hostile(random.Random(2026)):
        page.evaluate("to => { location.hash = to }", at)
        settled(page)
        says(page)
        assert page.evaluate("typeof hit") == "undefined", at
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), at
    expected = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")
    watched.said[:] = [each for each in watched.said if not expected.match(each)]  # of chips of clusters that are none


def says(page: Page) -> None:
    """The page has a heading, no error of a program, and with each failure a way on."""
    expect(page.locator("main h1").first).to_be_visible()
    told = page.inner_text("main")
    assert not re.search(r"undefined|\bNaN\b|\[object|TypeError|This page failed|Internal Server", told), page.url
    for failure in page.locator("main .failure").all_inner_texts():
        assert re.search(r"\w+ \w+ \w+", failure), page.url
