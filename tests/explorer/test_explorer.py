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
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from playwright.sync_api import Locator, Page, expect

from browsing import Open, Watched, documented, held_back, settled, violations
from conftest import Databases, Run
from forking import forked_service
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access.bearer_tokens import create_token, revoke_token
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
def test_a_number_shows_its_source_and_leads_to_the_disagreement(opened: Open) -> None:
    page = opened("#/sources")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="HBM, GiB", exact=True)).first
    row.get_by_role("button", name="96", exact=True).focus()
    expect(page.get_by_role("tooltip").filter(visible=True)).to_contain_text("Amazon EC2 Trn2 architecture")
    # as in the report of capacity: other chips' sources only print another unit
    expect(row.locator("a.mark")).to_have_count(1)
    row.locator("a.mark").click()
    expect(page.locator(".wanted h3")).to_have_text("Trainium2 HBM")
    wanted = page.locator(".wanted summary")
    expect(wanted).to_contain_text("Amazon EC2 Trn2 architecture")
    expect(wanted.locator(".difference").first).to_have_text(re.compile(r"^[+−][\d,.]+ %$"))
    page.get_by_role("searchbox", name="Filter").fill("trainium1 hbm")
    expect(page.locator(".disagreements h3").first).to_contain_text("Trainium1")


@pytest.mark.slow
def test_the_name_of_a_column_ends_where_its_numbers_do(opened: Open) -> None:
    page = opened("#/sources", width=390, height=844)
    right = "cell => cell.querySelector('.mark').getBoundingClientRect().x"
    marks = f"all => all.map({right})"
    heads = page.locator(".numbers thead th:not(:first-child)").evaluate_all(marks)
    assert heads == page.locator(".numbers tbody tr:not(.topic)").first.locator("td").evaluate_all(marks)


@pytest.mark.slow
def test_documented_numbers_of_one_kind_are_together_in_the_unit_of_their_sources(opened: Open) -> None:
    page = opened("#/sources")
    names = page.locator(".numbers tbody th[scope=row]").all_inner_texts()
    assert names[0] == "HBM, GiB"
    compute = names[names.index("BF16 compute, TFLOPS") :]
    assert all("compute" in name for name in compute[: compute.index("Cores")])
    assert "INT8 compute, TOPS" in compute  # which no source gives in TFLOPS


@pytest.mark.slow
def test_what_is_not_used_is_first_then_the_largest_disagreement(opened: Open) -> None:
    page = opened("#/disagreements")
    told = page.locator(".disagreements details").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('.difference')].map(each => each.textContent))"
    )
    sizes = [max(float(re.sub("[^0-9.]", "", text) or 0) for text in [*texts, "0"]) for texts in told]
    names = page.locator(".disagreements h3").all_inner_texts()
    expect(page.locator(".disagreements details").first.locator(".computed")).to_be_visible()
    ranked = [size for size, name in zip(sizes, names, strict=True) if not re.search("UltraCluster|Rainier", name)][2:]
    assert ranked == sorted(ranked, reverse=True)
    assert ranked[0] > 100


@pytest.mark.slow
def test_a_note_on_several_numbers_is_read_once_and_a_source_is_named_with_its_publisher(opened: Open) -> None:
    page = opened("#/disagreements")
    notes = page.locator(".disagreements .reason").all_inner_texts()
    own = [note for note in notes if not note.startswith("As for ")]
    assert len(own) == len(set(own)) < len(notes)
    expect(page.locator(".disagreements .others", has_text="SemiAnalysis: ").first).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_row_says_which_value_is_right(opened: Open, width: int) -> None:
    page = opened("#/disagreements")
    page.set_viewport_size({"width": width, "height": 900})
    notes = page.locator(".disagreements summary .reason")
    assert notes.evaluate_all("all => all.every(note => note.clientHeight || note.offsetHeight)")
    assert notes.evaluate_all("all => all.every(note => note.scrollHeight <= note.clientHeight)")
    row = page.locator("[id='u-trn2x64 efa_bandwidth'] summary")
    expect(row.locator(".used")).to_have_text(re.compile("^1,600 GB/s computed, the sum of its NICs$"))
    expect(row.locator(".other .value")).to_have_text(["400 GB/s"])
    expect(row.locator(".other .difference")).to_have_text(["−75 %"])
    expect(row).to_contain_text("the inventory holds 64 NICs of 200 Gbps.")
    links = page.locator("[id='trainium3 neuronlink_bandwidth'] summary")
    expect(links.locator(".used")).to_have_text(re.compile("^704 GB/s computed, the sum of its links$"))
    expect(links.locator(".other .value").first).to_have_text("1,024 GB/s")
    expect(page.locator(".disagreements .computed")).to_have_count(2)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 1280])
def test_names_of_sources_are_read_to_their_ends_where_they_differ(opened: Open, width: int) -> None:
    page = opened("#/disagreements")
    page.set_viewport_size({"width": width, "height": 900})
    row = page.locator("[id='trn1.32xlarge neuronlink_bandwidth'] summary")
    expect(row.locator(".source")).to_contain_text(["(Neuron SDK 2.32)", "(revision of 2023-05-26)"])
    assert row.locator(".source").evaluate_all("all => all.every(name => name.scrollHeight <= name.clientHeight)")


@pytest.mark.slow
def test_a_number_that_is_not_used_says_what_is_beside_it(opened: Open) -> None:
    page = opened("#/sources")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="NeuronLink bandwidth, GB/s", exact=True)).first
    expect(row.locator(".computed")).to_contain_text(["used: 704, sum of links"])
    expect(page.locator("main .computed")).to_have_count(1)
    page = opened("#/sources/ultraservers")
    expect(page.locator("main .computed")).to_contain_text(["used: 1,600, sum of NICs"])


@pytest.mark.slow
def test_documents_are_listed_the_newest_first_and_lead_to_their_numbers(opened: Open) -> None:
    page = opened("#/sources/documents")
    dates = page.locator(".documents .date").all_inner_texts()
    dated = [date for date in dates if date != "undated"]
    assert dated == sorted(dated, reverse=True)
    assert dates == dated + ["undated"] * (len(dates) - len(dated))
    row = page.locator(".documents tr", has_text="Amazon EC2 Trn3 Architecture").first
    used = int(row.locator("td.number").first.inner_text())
    row.get_by_role("link").click()
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("Amazon EC2 Trn3 Architecture")
    assert page.locator(".fact").count() >= used > 3


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


@pytest.mark.slow
def test_a_token_is_asked_for_and_kept(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = create_token(connection, "explorer", "read", None)
    with forked_service(url, TRNINV_AUTH="tokens") as guarded:
        page = watched.open(url=guarded)
        expect(page.locator("form.failure")).not_to_have_count(1)
        expect(page.locator("form.failure").filter(visible=True)).to_have_count(1)
        page.evaluate("location.hash = '#/cluster/u-trn2x64'")
        page.get_by_label(re.compile("requires a token")).first.fill(token)
        page.get_by_role("button", name="Use token").first.click()
        expect(page.get_by_text("Trn2 UltraServer")).to_be_visible()
        expect(page.locator(".bar .viewer")).to_have_text("explorer")
        watched.close()
    assert all("401" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
def test_a_page_whose_token_is_revoked_says_so(watched: Watched, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = [create_token(connection, name, "read", None) for name in ("first", "second")]
    with forked_service(url, TRNINV_AUTH="tokens") as guarded:
        page = watched.open("#/cluster/u-trn2x64", url=guarded)
        for number, token in enumerate(tokens):
            page.get_by_label(re.compile("revoked or expired" if number else "requires a token")).first.fill(token)
            page.get_by_role("button", name="Use token").first.click()
            expect(page.get_by_text("Trn2 UltraServer")).to_be_visible()
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                revoke_token(connection, "second" if number else "first")
        expect(page.get_by_label(re.compile("revoked or expired")).first).to_be_visible()
        expect(page.get_by_text("Trn2 UltraServer")).to_be_hidden()
        expect(page.locator(".clock summary")).to_have_text("No access token required")
        watched.close()
    assert all("401" in each for each in watched.said)
    watched.said.clear()


@pytest.mark.slow
def test_a_service_that_has_gone_is_told(watched: Watched, databases: Databases) -> None:
    with forked_service(databases.seeded("sqlite")) as short:
        page = watched.open(url=short)
    page.evaluate("location.hash = '#/reports'")
    expect(page.locator(".failure")).to_contain_text("not responding")
    watched.close()
    watched.said.clear()


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
