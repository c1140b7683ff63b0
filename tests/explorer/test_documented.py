"""Each address of docs/reference/explorer.md opens its view: in every color, on a phone, for whoever can't see it."""

import itertools
import re

import pytest
from playwright.sync_api import Page, expect

from browsing import Open, documented, violations
from examples import ROOT

COLORS = [("light", "none"), ("dark", "none"), ("light", "active"), ("dark", "active")]
"""Color schemes, each without and with the colors of the system."""
ERRORS = ["#/nothing", "#/domain/u-trn2x64/d9", "#/rack/u-trn2x64/r9", "#/at/u-trn2x64/d0/s9", "#/reports/nothing"]
PAST = "#/?asof=1"
CHIP = "u-trn2x64/d0/s0/c5"


def test_every_view_is_documented() -> None:
    table = (ROOT / "web/src/main.tsx").read_text().partition("const VIEWS")[2].partition("\n};")[0]
    assert set(re.findall(r"^  (\w+):", table, re.MULTILINE)) == {
        re.split("[/?]", at[2:])[0] or "home" for at in documented()
    }


def in_turns(addresses: list[str], count: int) -> list[tuple[str, list[tuple[str, str]]]]:
    """Pair addresses with so many colors each: the first, and of the others those whose turn it is."""
    others = itertools.cycle([COLORS[1:count], [*COLORS[1 : count - 1], COLORS[count]]])
    return [(at, [COLORS[0], *next(others)]) for at in addresses]


@pytest.mark.slow
@pytest.mark.parametrize(("at", "colors"), [*in_turns([*documented(), PAST], 3), *in_turns(ERRORS, 2)])
def test_an_address_opens_a_view_that_all_can_read(opened: Open, at: str, colors: list[tuple[str, str]]) -> None:
    page = opened(at)
    assert page.evaluate("location.hash") == at
    expect(page.locator("main h1")).to_have_count(1)
    assert page.locator("main .failure").count() == (at in ERRORS)
    for scheme, forced in colors:
        page.emulate_media(color_scheme=scheme, forced_colors=forced)  # type: ignore[arg-type] # words of its own
        is_first = (scheme, forced) == COLORS[0]
        found = violations(page, *([] if is_first else ["color-contrast"]))
        assert found == "", (scheme, forced)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


COLOR = "each => ['fill', 'stroke', 'stroke-dasharray'].map(name => getComputedStyle(each).getPropertyValue(name))"


@pytest.mark.slow
def test_colors_of_the_system_leave_glyphs_dashes_paths_and_focus(opened: Open) -> None:
    page = opened("#/domain/u-trn2x64/d0?from=s0/c0&to=s0/c2&down=s0/c5")
    page.emulate_media(forced_colors="active", color_scheme="dark")
    ink, highlight = (system(page, name) for name in ("CanvasText", "Highlight"))
    supposed = page.locator(f'.wiring [data-at="{CHIP}"]')
    expect(supposed.locator(".sign.down")).to_be_visible()
    body = supposed.locator(".body").evaluate(COLOR)
    assert body[1] == ink
    assert body[2] != "none"
    assert supposed.locator(".sign .cross").evaluate(COLOR)[1] == ink
    for wire in page.locator(".wire.path polyline:not(.hit, .casing)").all():
        assert wire.evaluate(COLOR)[1] == highlight
    idle = page.locator(".wire.off polyline:not(.hit, .casing)").first.evaluate(COLOR)
    assert idle[2] != "none"
    supposed.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".wiring g:focus-visible .ring").evaluate(COLOR)[1] == highlight
    page.locator(".rail a").first.focus()
    assert page.locator(".rail a").first.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"


def system(page: Page, name: str) -> str:
    """A color of the system, as styles have it."""
    made = (
        "name => { const p = document.body.appendChild(document.createElement('p')); p.style.color = name; return p }"
    )
    of = page.evaluate_handle(made, name)
    found: str = of.evaluate("each => { const is = getComputedStyle(each).color; each.remove(); return is }")
    return found
