"""The explorer as people use it, in a real browser.

TRNINV_WRITE_BASELINE=1 rewrites tests/golden/screens.
"""

import gzip
import io
import json
import os
import re
import urllib.request
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from playwright.sync_api import Locator, Page, expect

from browsing import Open, Watched, Window, documented, held_back, settled, violations
from conftest import Run
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.service.explorer import WEB_DIRECTORY

SCREENS = Path(__file__).parent.parent / "golden" / "screens"
U = "#/domain/u-trn2x64/d0"
PAGES = {
    "home": "",
    "sources": "#/sources",
    "incidents": "#/incidents?sel=1",
    "chip": "#/at/lab/d0/s0/c3",
    "jobs": "#/jobs",
    "fits": "#/jobs?in=u-trn2x64&fit=chips:8",
    "compare": "#/compare?of=u-trn2x64/d0,trn3-gen1/d0,trn3-gen2/d0",
    "disagreements": "#/disagreements",
    "cluster": "#/cluster/lab",
    "map": "#/cluster/lab?color=pool&zoom=3&at=d150&sel=d150/s0",
    "fabric": "#/cluster/lab?fabric=yes",
    "torus": f"{U}?from=s0/c0&to=s2/c10&down=s0/c1",
    "solid": f"{U}?from=s0/c0&to=s2/c10&view=3d",
    "bisection": f"{U}?show=bisection&down=s1/c5",
    "pool": f"{U}?from=s1/c5&show=pool",
    "switched": "#/domain/trn3-gen1/d0?from=s0/c0&to=s3/c9",
    "rack": "#/rack/u-trn2x64/r0",
    "rack-assumed": "#/rack/trn3-gen1/r1",
    "reports": "#/reports",
    "report": "#/reports/bandwidth",
}
EYES = "home", "torus", "map"
"""Pages that are looked at as people do who see few colors, and in colors of the system."""
VISIONS = "protanopia", "deuteranopia", "tritanopia", "achromatopsia"
TOLERANCE = 0.015
"""Fonts differ from machine to machine."""
SVG = "{http://www.w3.org/2000/svg}"
NO_TIMELINE = ".timeline { height: 250px; overflow: hidden; visibility: hidden }"
"""Timelines are higher while their history is seconds old; tests/drawing has what they look like."""
FIRST_PAGE = 50_000
"""Bytes of the first page, compressed."""


def part(page: Page, short: str, domain: str = "u-trn2x64/d0") -> Locator:
    return page.locator(f'.wiring [data-at="{domain}/{short}"]')


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd")


def wire(page: Page, short: str) -> Locator:
    a, b = (f"u-trn2x64/d0/{end}" for end in short.split("--"))
    return page.locator(".wire", has=page.locator(f'title:text("{a}--{b}:")')).locator(".hit").first


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_page_looks_as_it_did_is_accessible_and_fits_a_phone(
    opened: Open,
    name: str,
) -> None:
    page = opened(PAGES[name], width=1200, height=900)
    looks(page, name)
    found = []
    is_audited = PAGES[name] not in ("", *documented())  # by test_documented.py, in every color
    if is_audited:
        found.append(violations(page))
    if name in EYES:
        eyes = page.context.new_cdp_session(page)
        for vision in VISIONS:
            eyes.send("Emulation.setEmulatedVisionDeficiency", {"type": vision})
            looks(page, name, vision)
        eyes.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
        page.emulate_media(forced_colors="active")
        looks(page, name, "forced")
        page.emulate_media(forced_colors="none")
        page.reload()  # Chromium may keep the canvas of forced colors
        settled(page)
    page.emulate_media(color_scheme="dark")
    looks(page, name, "dark")
    if is_audited:
        found.append(violations(page, "color-contrast"))
    assert "".join(found) == ""
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_looks_the_same_an_hour_later(watched: Watched, window: Window, name: str) -> None:
    """A slow machine reaches a page minutes after its fleet was made: longer ages move nothing."""
    window.take().clock.set_fixed_time(datetime.now(UTC) + timedelta(minutes=59))
    looks(watched.open(PAGES[name], width=1200, height=900), name)
    watched.close()


def looks(page: Page, name: str, look: str = "") -> None:
    """Wait until a page looks as it did: colors are emulated a while after it was asked for."""
    for _ in range(50):
        if (found := differs(page, name, look)) < TOLERANCE:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"{found:.3f} of {name} is of another color than it was {look}")


def differs(page: Page, name: str, look: str = "") -> float:
    """The part of a page that is plainly of another color than it was, when both are small and blurred.

    Other looks than the light one are kept small and blurred.
    """
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    with Image.open(io.BytesIO(page.screenshot(style=NO_TIMELINE))) as shot:
        whole = shot.convert("RGB")
    baseline = SCREENS / look / f"{name}.{'jpg' if look else 'png'}"
    if os.environ.get("TRNINV_WRITE_BASELINE"):
        baseline.parent.mkdir(exist_ok=True)
        (blurred(whole) if look else whole.quantize(256)).save(baseline, optimize=True)
    with Image.open(baseline) as image:
        before = image.convert("RGB")
    if not look:
        before = blurred(before)
    apart = np.abs(np.asarray(before, dtype=np.int16) - np.asarray(blurred(whole), dtype=np.int16))
    return float((apart.max(axis=2) > 24).mean())


def blurred(image: Image.Image) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(6)).resize((300, 225))


@pytest.mark.slow
def test_what_links_two_chips_is_found_by_clicking(opened: Open) -> None:
    page = opened()
    page.get_by_role("link", name=re.compile("^u-trn2x64 ")).click()
    part(page, "s0/c0").click()
    part(page, "s2/c10").click()
    expect(figure(page, "Shortest path")).to_have_text("6 hops")
    expect(figure(page, "Maximum flow")).to_have_text("640 GB/s")
    assert page.locator(".wire.path").count() == 6
    hops = page.get_by_role("region", name="Path, link by link").locator("tbody tr")
    assert [hops.nth(at).locator("a").inner_text() for at in (0, 5)] == ["s0/c0 – s0/c1", "s1/c10 – s2/c10"]
    assert page.url.endswith(f"{U}?from=s0/c0&to=s2/c10")
    page.reload()
    expect(figure(page, "Shortest path")).to_have_text("6 hops")
    page.get_by_role("tab", name="Cut").click()
    expect(page.locator(".wire.cut")).to_have_count(6)
    page.go_back()
    expect(page.locator(".wire.path")).to_have_count(6)


def test_what_happens_when_a_chip_is_down_is_found_by_clicking(opened: Open) -> None:
    page = opened(f"{U}?from=s0/c0&to=s2/c10")
    expect(figure(page, "Bisection bandwidth")).to_have_text("2,048 GB/s")
    part(page, "s0/c1").click(modifiers=["Shift"])
    expect(figure(page, "Bisection bandwidth")).to_have_text("before 2,048 → 1,984 GB/s not comparable")
    expect(figure(page, "Maximum flow")).to_have_text("before 640 → 512 GB/s −20 %")
    expect(figure(page, "Memory pool")).to_have_text("before 6,144 → 6,048 GiB −2 %")
    page.get_by_role("tab", name="Bisection").click()
    expect(page.locator(".wire.cut")).to_have_count(31)
    page.get_by_role("button", name="Clear").click()
    expect(figure(page, "Bisection bandwidth")).to_have_text("2,048 GB/s")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_texts_of_every_domain_are_legible_and_apart(opened: Open, width: int, height: int) -> None:
    """Of a phone too, on which the whole picture is as wide as the screen."""
    page = opened("", width=width, height=height)
    for at in ("trn1.2xlarge/d0", "trn1.32xlarge/d0", "u-trn2x64/d0", "trn3-gen1/d0", "trn3-gen2/d0"):
        page.evaluate("to => { location.hash = to }", f"#/domain/{at}")
        page.locator(f'.wiring [data-at^="{at}"]').first.wait_for()
        sizes, boxes, over = page.evaluate(TEXTS)
        assert min(sizes) >= 11, at
        assert [(a[0], b[0]) for a, b in combinations(boxes, 2) if overlapping(a, b)] == [], at
        assert over <= 0, at
        assert page.evaluate("document.documentElement.scrollWidth") <= width


TEXTS = """() => {
    const texts = [...document.querySelectorAll('.wiring text')]
    const size = text => {
        const at = text.getScreenCTM()
        return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(at.a, at.b)
    }
    const box = text => {
        const { x, y, width, height } = text.getBoundingClientRect()
        return [text.textContent + ' ' + x + ' ' + y, x, y + height * 0.15, x + width, y + height * 0.85]
    }
    const frame = document.querySelector('.wide')
    return [texts.map(size), texts.map(box), frame.scrollWidth - frame.clientWidth]
}"""
Boxed = tuple[str, float, float, float, float]


def overlapping(a: Boxed, b: Boxed) -> bool:
    return a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 900), (1280, 700), (390, 844)])
def test_rows_of_links_begin_at_whole_pixels(opened: Open, width: int, height: int) -> None:
    """Else equal links look thinner in some rows."""
    page = opened("#/domain/trn3-gen2/d0", width=width, height=height)
    tops = "all => all.map(chip => chip.getBoundingClientRect().y)"
    rows = sorted({*page.locator('.wiring [data-at*="/c"]').evaluate_all(tops)})
    pitches = [b - a for a, b in pairwise(rows) if b - a > 1]
    assert len(pitches) >= 17
    assert all(abs(pitch - round(pitch)) < 0.05 for pitch in pitches)


@pytest.mark.slow
def test_what_the_arrow_keys_reach_is_told(opened: Open, service_database: str) -> None:
    with temporary_engine(service_database) as engine, write_transaction(engine) as connection:
        why = "HBM uncorrectable errors"
        set_state(connection, ["u-trn2x64/d0/s1/c5"], Condition.from_user("down", None), why=why, who="tests")
    page = opened(U)
    told = page.locator(".wide [role=status]")
    part(page, "s0/c5").focus()
    page.keyboard.press("Shift+ArrowRight")
    expect(told).to_have_text("s1, chip 5, down, HBM uncorrectable errors, 6 links")
    expect(part(page, "s1/c5").locator(".sign.down")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(told).to_have_text("s1, chip 9, up, 6 links")
    before = part(page, "s1/c9").bounding_box()
    page.keyboard.press("+")
    after = part(page, "s1/c9").bounding_box()
    assert before
    assert after
    assert after["width"] > 1.3 * before["width"]
    page.keyboard.press("0")
    with temporary_engine(service_database) as engine, write_transaction(engine) as connection:
        set_state(connection, ["u-trn2x64/d0/s1/c5"], Condition.from_user("up", None), why="test", who="tests")


@pytest.mark.slow
def test_links_and_switches_are_taken_down_too(opened: Open) -> None:
    page = opened(f"{U}?from=s0/c0&to=s0/c1")
    expect(figure(page, "Shortest path")).to_have_text("1 hop")
    wire(page, "s0/c0--s0/c1").click(modifiers=["Shift"])
    expect(figure(page, "Shortest path")).to_have_text("before 1 → 3 hops +2")
    assert "down=s0/c0--s0/c1" in page.url
    page = opened("#/domain/trn3-gen2/d0?from=s0/c0&to=s1/c0")
    expect(figure(page, "Shortest path")).to_have_text("2 hops")
    page.locator("summary", has_text="…").click()
    page.get_by_label("Click to take down").check()
    part(page, "sw36", "trn3-gen2/d0").click()
    expect(figure(page, "Shortest path")).to_have_text("before 2 → 4 hops +2")


@pytest.mark.slow
def test_a_server_down_takes_its_chips_along_and_ends_stand_in_either_order(opened: Open) -> None:
    page = opened(f"{U}?from=S0/c0&to=s1/c5&down=s2,s0/c1--s0/c0")
    expect(page.locator(".wiring .chip.off")).to_have_count(16)
    expect(wire(page, "s0/c0--s0/c1").locator("..")).to_have_class(re.compile("off"))
    page.get_by_role("button", name="Restore s0/c0--s0/c1").first.click()
    page.wait_for_url(re.compile(r"down=s2$"))


@pytest.mark.slow
def test_marks_are_never_those_of_another_question(opened: Open) -> None:
    page = opened(f"{U}?from=s0/c0&to=s0/c1")
    expect(page.locator(".wire.path")).to_have_count(1)

    with held_back(page):
        page.evaluate("to => { location.hash = to }", f"{U}?from=s0/c0&to=s2/c10")
        expect(page.get_by_role("heading", name="s0/c0 to s2/c10")).to_be_visible()
        assert page.locator(".wire.path").count() == 0
        assert figure(page, "Shortest path").count() == 0
    expect(page.locator(".wire.path")).to_have_count(6)


@pytest.mark.slow
def test_keys_of_the_browser_stay_the_browsers(opened: Open) -> None:
    page = opened(U)
    part(page, "s0/c0").focus()
    for keys in ("Control+d", "Alt+Enter", "Meta+d"):
        page.keyboard.press(keys)
    settled(page)
    assert page.evaluate("location.hash") == U


@pytest.mark.slow
def test_the_keyboard_does_the_same(opened: Open) -> None:
    page = opened(U)
    part(page, "s0/c0").focus()
    page.keyboard.press("Enter")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(figure(page, "Shortest path")).to_have_text(re.compile("hops"))
    assert re.search(r"from=s0/c0&to=s0/c\d+$", page.url)
    page.keyboard.press("d")
    expect(page.get_by_role("region", name="What if")).to_be_visible()
    assert "&down=s0/c" in page.url


@pytest.mark.slow
def test_a_torus_turns(opened: Open) -> None:
    page = opened(f"{U}?view=3d")
    circle = part(page, "s0/c0").locator("circle.body")
    before = circle.get_attribute("cx")
    page.get_by_role("button", name="Turn left").click()
    page.wait_for_url(re.compile("yaw=31"))
    assert circle.get_attribute("cx") != before
    box = page.locator("#wiring").bounding_box()
    assert box
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 60)
    page.mouse.up()
    page.wait_for_url(re.compile("yaw=81&pitch=-6"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["home", "disagreements", "cluster", "torus", "rack", "report", "compare", "fits"])
def test_the_copied_query_runs_elsewhere(opened: Open, service: str, name: str) -> None:
    page = opened(PAGES[name])
    page.get_by_role("button", name="Copy as GraphQL").first.click()
    expect(page.get_by_text("Copied")).to_be_visible()
    document = page.evaluate("navigator.clipboard.readText()")
    for operation in re.findall(r"^query (\w+)", document, re.MULTILINE):
        body = json.dumps({"query": document, "operationName": operation}).encode()
        request = urllib.request.Request(f"{service}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = json.load(answer)
        assert "errors" not in told, told
        assert told["data"]


def places(svg: str) -> dict[str, set[tuple[str, ...]]]:
    """Where the chips, switches and links of a picture are; a link that wraps around is in two places."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for element in ET.fromstring(svg).findall(".//*"):  # noqa: S314 # our own
        title = element.find(f"{SVG}title")
        tags = {f"{SVG}{tag}" for tag in ("circle", "rect", "line", "polyline")}
        shapes = [each for each in (element, *element) if each.tag in tags]
        says = "" if title is None else title.text or ""
        address = re.search(r"\S+/\S+", says)
        if not address or "cables" in says:
            continue
        for shape in shapes[: 1 if shapes and not shapes[0].tag.endswith("line") else None]:
            keys = ("cx", "cy", "r", "x", "y", "width", "height", "x1", "y1", "x2", "y2")
            numbers = [float(shape.get(key, 0)) for key in keys]
            numbers += map(float, re.split("[ ,]", shape.get("points") or "0"))
            at = tuple(f"{number:.0f}" for number in numbers)
            found.setdefault(address[0].rstrip(":,"), set()).add(at)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "scope"),
    [
        (U, "u-trn2x64"),
        ("#/domain/trn3-gen1/d0", "trn3-gen1"),
        ("#/domain/trn3-gen2/d0", "trn3-gen2"),
        ("#/domain/trn1.2xlarge/d0", "trn1.2xlarge"),
    ],
)
def test_the_command_line_draws_the_same_picture(
    opened: Open,
    service_database: str,
    run: Run,
    at: str,
    scope: str,
) -> None:
    page = opened(at)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download SVG").last.click()
    drawn = run("draw", scope, "-o", "-", database=service_database)[1]
    mine, theirs = places(download.value.path().read_text()), places(drawn)
    assert mine.keys() == theirs.keys()
    assert mine == theirs


@pytest.mark.slow
@pytest.mark.parametrize("color", ["state", "pool", "rack", "domain"])
def test_the_command_line_draws_the_same_fleet(
    opened: Open,
    service_database: str,
    run: Run,
    color: str,
) -> None:
    page = opened(f"#/cluster/lab?color={color}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download SVG").click()
    drawn = run("draw", "lab", "--color-by", color, "-o", "-", database=service_database)[1]
    paper = re.compile(r'(<rect[^>]*fill=)"[^"]*"')
    assert paper.sub(r"\1", download.value.path().read_text()) == paper.sub(r"\1", drawn)


@pytest.mark.slow
def test_a_report_has_parameters_a_plot_and_csv(opened: Open) -> None:
    page = opened("#/reports")
    page.get_by_role("link", name="Capacity").click()
    expect(page.locator("#plot")).to_be_visible()
    page.get_by_role("textbox", name="generation").fill("trn2")
    page.get_by_role("textbox", name="generation").press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("cluster,chips,")
    assert len(lines) == 4


@pytest.mark.slow
def test_graphiql_runs_a_query(opened: Open) -> None:
    page = opened("graphql")
    expect(page.locator(".query-editor, .graphiql-query-editor").first).to_contain_text("Four questions")
    page.get_by_role("button", name=re.compile("Execute query")).click()
    expect(page.locator(".result-window")).to_contain_text("gigabytesPerSecond")


@pytest.mark.slow
def test_a_tab_is_named_after_its_page(opened: Open) -> None:
    for address, title in (("#/", "Fleet"), ("#/incidents", "Incidents"), ("#/domain/u-trn2x64/d0", "u-trn2x64/d0")):
        expect(opened(address)).to_have_title(f"{title} – trninv")


@pytest.mark.slow
def test_a_wrong_address_is_told(opened: Open, watched: Watched) -> None:
    page = opened()
    for at, says in {
        "#/domain/nothing/d0": "no cluster nothing",
        "#/domain/u-trn2x64/d9": "u-trn2x64 has d0",
        "#/domain/u-trn2x64/r0": "u-trn2x64/r0 is a rack; name a domain",
        "#/rack/u-trn2x64/d0": "is a domain; name a rack",
        "#/cluster/nothing": "no cluster nothing",
        "#/cluster/lab%3F%3C/title%3E%3Cscript%3Ealert(1)%3C/script%3E": "Not found. The Fleet page",
        "#/cluster/..%2Fgraphql": "Not found. The Fleet page",
        f"{U}?from=s0/c99&to=s0/c0": "no u-trn2x64/d0/s0/c99",
        "#/reports/nothing": "Report nothing does not exist",
        "#/nothing": "Page nothing does not exist",
    }.items():
        page.evaluate("to => { location.hash = to }", at)
        expect(page.locator(".failure").first).to_contain_text(says)
    assert all("404" in each or "400" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        "#/cluster/lab?zoom=NaN&at=d1,-.,1e17&only=toString&color=__proto__",
        "#/cluster/lab?zoom=0&at=d999999999&color=constructor&sel=d0/s99/c99--x",
        f"{U}?view=3d&yaw=abc&pitch=1e99&show=toString",
        f"{U}?down=,,&from=&to=%00",
        "#/domain/u-trn2x64/d0?%E0%A4%A=1&down=%E0%A4%A",
        "#/reports/capacity?toString=1&generation=<script>alert(1)</script>",
    ],
)
def test_a_hostile_address_breaks_nothing(opened: Open, at: str) -> None:
    page = opened(at)
    assert "NaN" not in page.inner_html("main article")
    page.evaluate("location.hash = '#/reports'")
    expect(page.get_by_role("heading", name="Reports")).to_be_visible()
    assert page.locator("article").count() == 1


def test_the_first_page_is_small_and_graphiql_is_no_part_of_it() -> None:
    html = (WEB_DIRECTORY / "index.html").read_text()
    files = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', html)
    chunks, seen = [WEB_DIRECTORY / name for name in files], set()
    while chunks:
        chunk = chunks.pop()
        if chunk not in seen:
            seen.add(chunk)
            chunks += [chunk.parent / name for name in re.findall(r'from"\./([^"]+)"', chunk.read_text())]
    assert not {file.name for file in seen} & {"graphiql.js", "palette.js", "compare.js"}
    size = sum(len(gzip.compress(file.read_bytes())) for file in [WEB_DIRECTORY / "index.html", *seen])
    assert size < FIRST_PAGE
