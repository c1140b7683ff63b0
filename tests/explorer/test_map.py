"""The map of a fleet: nothing that is not up is ever too small to see, and what is chosen stays chosen."""

import gzip
import io
import re
import struct
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, Route, expect

import trninv
from browsing import Open, settled, violations
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import STATES
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.reserve import reserve
from trninv.service.explorer import WEB_DIRECTORY

FLEET = "#/cluster/lab"
RAINIER = 6_250, 64
"""Domains, and chips of each."""
DOWN = {"light": (0xC2, 0x18, 0x2B), "dark": (0xFF, 0x5C, 0x5C)}
UP = 0xA9, 0xB7, 0xC8
ZOOMS = 0.5, 1, 1.7, 3, 6, 12, 25, 40
"""From a chip of half a pixel to one with its number."""
CHUNK = 12_000
"""Bytes of each part of the map, compressed."""


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """48 UltraServers with three jobs: a server, a chip of a job, a link and the fabric's top down, two chips worn.

    A server is reserved, and one is cordoned.
    """
    url = databases.migrated("sqlite")
    worn = {
        "lab/d30/s2": ("down", "BMC silent"),
        "lab/d7/s0/c4": ("down", "HBM errors"),
        "lab/d12/s3/c15": ("degraded", "PCIe lanes lost"),
        "lab/d40/s1/c2": ("maintenance", "firmware"),
        "lab/d20/s0/c1--lab/d20/s0/c2": ("down", "no carrier"),
        "lab/fabric/t1/n0": ("down", "optics"),
    }
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            cluster_seeding.seed(
                connection, default_catalog(), default_systems().get("u-trn2x64").resized(48), name="lab"
            )
            allocate(connection, "pretrain", ["lab/d0", "lab/d1"], who="tests")
            allocate(connection, "eval", ["lab/d2/s0"], who="tests")
            allocate(connection, "batch", ["lab/d7"], who="tests")
            reserve(connection, "next", ["lab/d10/s0"], who="tests", until="9h")
            cordon(connection, ["lab/d11/s0"], who="tests", why="flaps")
        for address, (state, why) in worn.items():
            with write_transaction(engine) as connection:
                condition = Condition.from_user(state, 0.5 if state == "degraded" else None)
                set_state(connection, [address], condition, why=why, who="m.chen")
    return url


def of_rainier(page: Page, bad: Sequence[int], state: str = "down") -> None:
    """Show 400,000 chips, of which these are in a state, in place of the fleet that is there."""
    domains, chips = RAINIER
    states = bytearray(domains * chips)
    for chip in bad:
        states[chip] = STATES.index(state)
    packed = struct.pack("<4s5I", b"TRNI", 1, len(states), 16, 4, 2) + states + bytes([64]) * len(states)
    page.route(re.compile("/chips/lab$"), lambda route: route.fulfill(body=bytes(packed)))
    page.route("**/graphql", _nothing_known)
    page.reload()
    settled(page)


def _nothing_known(route: Route) -> None:
    """No cause is known: what is marked follows from the chips."""
    answer = route.fetch()
    told = answer.json()
    if "incidents" in (told.get("data") or {}):
        told["data"]["incidents"] = {**told["data"]["incidents"], "totalCount": 0, "nodes": []}
    route.fulfill(response=answer, json=told)


def shot(page: Page) -> NDArray[np.int16]:
    """The pixels of the map, without its corner."""
    page.add_style_tag(content=".corner { visibility: hidden }")
    with Image.open(io.BytesIO(page.locator(".stage").screenshot())) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def alike(pixels: NDArray[np.int16], color: tuple[int, int, int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.abs(pixels - np.array(color)).max(axis=2) <= 8
    return found


def around(page: Page, color: tuple[int, int, int]) -> tuple[float, float, int]:
    """The middle of what has a color, and how many pixels of it lie within 12, once markers have followed the map."""
    y = x = 0.0
    pixels = 0
    for _ in range(20):
        ys, xs = np.nonzero(alike(shot(page), color))
        if len(ys):
            y, x = float(ys.mean()), float(xs.mean())
            pixels = int(np.count_nonzero(np.hypot(ys - y, xs - x) <= 12))
            if pixels == len(ys):
                break
    return y, x, pixels


def told(page: Page) -> Locator:
    return page.locator(".hint")


def go(page: Page, at: str) -> None:
    page.evaluate("to => { location.hash = to }", at)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "zooms"), [("light", ZOOMS), ("dark", ZOOMS[::3])])
def test_one_chip_down_of_400_000_is_seen_at_every_zoom(opened: Open, scheme: str, zooms: Sequence[float]) -> None:
    page = opened(FLEET, width=1200, height=800, scheme=scheme)
    of_rainier(page, [1204 * 64 + 37])
    for zoom in zooms:
        go(page, f"{FLEET}?zoom={zoom}&at=d1204")
        y, x, pixels = around(page, DOWN[scheme])
        assert pixels >= 100, zoom
        page.locator("canvas.fleet").hover(position={"x": x, "y": y})
        expect(told(page)).to_contain_text("lab/d1204/s2/c5: down")
        page.mouse.move(5, 5)


@pytest.mark.slow
def test_where_chips_are_less_than_a_pixel_the_worst_is_shown(opened: Open) -> None:
    """Of every domain a chip is down: each of their tiles shows it, whatever else falls into its pixel."""
    page = opened(FLEET, width=1000, height=700)
    of_rainier(page, range(20, 400_000, 64))
    page.add_style_tag(content=":is(.marker, .shown-frame) { visibility: hidden }")
    go(page, f"{FLEET}?zoom=0.5")
    bad = alike(shot(page), DOWN["light"])
    assert np.count_nonzero(bad) >= RAINIER[0]
    assert np.count_nonzero(alike(shot(page), UP)) > 0
    page.get_by_role("button", name="6,250 chips down").click()
    page.wait_for_url(re.compile("only=down"))
    go(page, f"{FLEET}?zoom=0.5&only=up")
    assert np.count_nonzero(alike(shot(page), DOWN["light"])) == 0


@pytest.mark.slow
def test_markers_merge_with_their_count_and_very_many_are_a_grid(opened: Open) -> None:
    page = opened(FLEET, width=1200, height=800)
    chance = np.random.default_rng(7)
    bad = sorted({int(chip) for chip in chance.integers(0, 400_000, 3_000)} | {5, 6})
    of_rainier(page, bad)
    go(page, FLEET)
    assert 100 < page.locator(".marker").count() <= 400
    counts = page.locator(".marker").evaluate_all(
        "all => all.map(each => Number(each.innerText.replace(',', '') || 1))"
    )
    assert sum(counts) == len(bad)
    go(page, f"{FLEET}?zoom=4&at=d0")
    places = page.locator(".marker").evaluate_all("all => all.map(each => [each.offsetLeft, each.offsetTop])")
    apart = [np.hypot(a[0] - b[0], a[1] - b[1]) for at, a in enumerate(places) for b in places[at + 1 :]]
    assert min(apart) >= 19
    sizes = page.locator(".marker").evaluate_all("all => all.map(each => each.offsetWidth)")
    assert set(sizes) == {20}


@pytest.mark.slow
def test_a_link_between_servers_is_marked_between_them(opened: Open, service_database: str) -> None:
    link, chip = "lab/d21/s0/c0--lab/d21/s1/c0", "lab/d21/s0/c12"
    with temporary_engine(service_database) as engine:
        try:
            for place in (link, chip):
                with write_transaction(engine) as connection:
                    set_state(connection, [place], Condition.from_user("down", None), why="x", who="tests")
            page = opened(FLEET, width=1200, height=800)
            at, other = (page.locator(f'.marker[data-at="{each}"]').bounding_box() for each in (link, chip))
            assert at
            assert other
            assert at["x"] - other["x"] > 20
        finally:
            with write_transaction(engine) as connection:
                set_state(connection, [link, chip], Condition.from_user("up", None), why="x", who="tests")


@pytest.mark.slow
def test_a_click_selects_a_chip_enter_opens_its_domain_and_back_returns(opened: Open) -> None:
    page = opened(f"{FLEET}?zoom=4&at=d7,0.5,0.5")
    canvas = page.locator("canvas.fleet")
    box = canvas.bounding_box()
    assert box
    middle = {"x": box["width"] / 2 - 8, "y": box["height"] / 2 + 3}
    canvas.hover(position=middle)  # type: ignore[arg-type] # a Position
    expect(told(page)).to_contain_text(re.compile(r"^lab/d7/s\d/c\d+: "))
    address = told(page).inner_text().split(":")[0]
    canvas.click(position=middle)  # type: ignore[arg-type]
    short = address.removeprefix("lab/d7/")
    page.wait_for_url(re.compile(rf"sel=d7/{short}$"))
    expect(page.get_by_role("complementary", name=f"About {address}")).to_be_visible()
    expect(page.locator(".chosen-ring")).to_have_count(1)
    before, kept = page.locator(".layer").get_attribute("style"), page.url
    canvas.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"#/domain/lab/d7\?sel={short}$"))
    page.go_back()
    settled(page)
    assert page.url == kept
    assert page.locator(".layer").get_attribute("style") == before
    page.locator("canvas.fleet").dblclick(position=middle)  # type: ignore[arg-type]
    page.wait_for_url(re.compile(rf"#/domain/lab/d7\?sel={short}$"))


@pytest.mark.slow
def test_n_and_p_go_from_cause_to_cause_the_worst_first(opened: Open) -> None:
    page = opened(FLEET, width=1000, height=600)
    listed = page.get_by_role("list", name="Causes").locator("strong")
    expect(listed).to_have_count(6)
    expect(listed.first).to_have_text("down: d30/s2")
    expect(listed.last).to_have_text("maintenance: d40/s1/c2")
    seen = []
    for each in range(6):
        page.keyboard.press("n")
        expect(page.locator(".steps")).to_contain_text(f"{each + 1} of 6")
        seen.append(page.evaluate("location.hash"))
        shown = (
            "#fabric a:has-text('down'), #fabric a:has-text('maintenance')"
            if "sel=fabric" in seen[-1]
            else ".chosen-ring"
        )
        expect(page.locator(shown).first).to_be_visible()
    assert len(set(seen)) == 6
    assert "sel=d30/s2" in seen[0]
    assert all("zoom=" in each for each in seen)
    assert "at=d40" in seen[-1]
    expect(page.get_by_role("complementary", name="About lab/d40/s1/c2")).to_contain_text("firmware")
    page.keyboard.press("p")
    expect(page.locator(".steps")).to_contain_text("5 of 6")
    go(page, f"{FLEET}?zoom=3&at=d40")
    expect(page.locator(".mini")).to_be_visible()
    go(page, f"{FLEET}?zoom=3&at=d0")  # in the corner, without an empty half
    transform = "layer => [new DOMMatrix(layer.style.transform)].map(({ e, f }) => [e, f])[0]"
    assert page.locator(".layer").evaluate(transform) == [12, 12]
    go(page, FLEET)
    expect(page.get_by_role("radio", name="Fabric tiers: 1 cause")).to_be_visible()
    expect(page.locator(".mini")).to_have_count(0)
    expect(page.locator('.marker[data-at="lab/d12/s3/c15"]')).to_have_count(1)
    page.get_by_role("button", name="Previous").click()
    page.wait_for_url(re.compile("sel=d40/s1/c2"))
    assert violations(page) == ""
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_the_domain_in_the_panel_is_framed_on_the_map(opened: Open) -> None:
    page = opened(FLEET, width=1200, height=800)
    for sel, marked in (("", "lab/d30/s2"), ("d7/s0/c4", "lab/d7/s0/c4")):  # by default the worst
        go(page, f"{FLEET}?sel={sel}" if sel else FLEET)
        expect(page.locator(".shown-frame")).to_have_count(1)
        frame, marker = (page.locator(each).bounding_box() for each in (".shown-frame", f'.marker[data-at="{marked}"]'))
        assert frame
        assert marker
        assert frame["x"] < marker["x"] + marker["width"] / 2 < frame["x"] + frame["width"]
        assert frame["y"] < marker["y"] + marker["height"] / 2 < frame["y"] + frame["height"]


def runs(line: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where what is alike begins and ends along a line."""
    return np.flatnonzero(np.diff(np.concatenate(([0], line.astype(int), [0])))).reshape(-1, 2)


@pytest.mark.slow
def test_servers_are_apart_and_chips_equally_wide(opened: Open) -> None:
    page = opened(FLEET, width=1440, height=900)
    page.add_style_tag(content=":is(.marker, .shown-frame) { visibility: hidden }")
    for width, zoom in ((1440, 1), (1440, 1.3), (1440, 4.1), (1280, 1), (1000, 1), (390, 1)):
        page.set_viewport_size({"width": width, "height": 900})
        go(page, f"{FLEET}?zoom={zoom}&at=d28")
        page.wait_for_timeout(100)
        seen = alike(shot(page), UP)
        for lines in (seen, seen.T):
            chips = runs(lines[lines.sum(axis=1).argmax()])[1:-1]
            chips = chips[np.argmax(np.diff(chips[:, 0]) > 20) + 1 :]  # a chip at the edge is cut
            gaps = chips[1:, 0] - chips[:-1, 1]
            between, apart = np.unique(gaps[gaps < gaps.max() / 2 + 1])[:2]
            assert np.ptp(chips[:, 1] - chips[:, 0]) == 0, (width, zoom)
            assert apart >= 2 * between, (width, zoom)
            assert np.count_nonzero(gaps == between) >= 5 * np.count_nonzero(gaps == apart), (width, zoom)


@pytest.mark.slow
def test_nothing_beside_the_name_of_a_job_reads_as_a_dash(opened: Open) -> None:
    page = opened(FLEET, width=1440, height=900)
    page.evaluate("""() => {
        window.drawn = []
        const draw = CanvasRenderingContext2D.prototype.fillText
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            window.drawn.push([text, x, y, this.measureText(text).width])
            draw.call(this, text, x, y)
        }
    }""")
    for zoom in (1, 1.6, 3):
        page.evaluate("window.drawn = []")
        go(page, f"{FLEET}?color=job&zoom={zoom}&at=d0")
        page.wait_for_function("() => window.drawn.some(([text]) => text == 'pretrain')")
        _, x, y, wide = next(each for each in reversed(page.evaluate("window.drawn")) if each[0] == "pretrain")
        held = alike(shot(page), (0x2B, 0x8C, 0xEB))[int(y) - 7 : int(y) + 6]
        left, right = int(x - wide / 2) - 1, int(x + wide / 2) + 2
        other = np.flatnonzero(np.logical_or.reduce(~held))
        start, end = max(other[other < left], default=-1) + 1, min(other[other >= right])
        assert left - start >= 2, zoom
        assert end - right >= 2, zoom
        frame = page.locator(".shown-frame").evaluate("frame => frame.getBoundingClientRect().width")
        assert end - start == pytest.approx(frame - 8, abs=1), zoom
    page.reload()  # draws by itself again


@pytest.mark.slow
def test_a_phone_tells_the_names_of_jobs_above_the_map(opened: Open) -> None:
    page = opened(f"{FLEET}?color=job", width=390, height=844)
    key = page.locator(".job-key")
    expect(key.get_by_role("listitem")).to_have_text(["A pretrain", "B eval", "C batch"])
    expect(key).to_be_in_viewport(ratio=1)
    page.get_by_label("Color by").select_option("state")
    expect(key).to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 844})
    go(page, f"{FLEET}?color=job")
    expect(page.locator(".keys")).to_contain_text("128 pretrain")  # below the map, and not twice
    expect(key).to_have_count(0)
    many = [{"name": f"job-{number}", "chips": 1, "ordinal": number} for number in range(40)]
    told = {"jobs": many, "runs": [[64 * job, 64, job] for job in range(40)], "blocks": None, "reserved": []}
    page.route(re.compile("/chips/lab/jobs"), lambda route: route.fulfill(json={**told, "cordoned": []}))
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    settled(page)
    expect(key.get_by_role("listitem").last).to_have_text(re.compile(r"^and (2|3)\d more$"))
    shown = key.get_by_role("listitem").count() - 1
    expect(key).to_contain_text(f"and {40 - shown} more")
    tops = key.get_by_role("listitem").evaluate_all("all => [...new Set(all.map(each => each.offsetTop))]")
    assert len(tops) == 2


@pytest.mark.slow
def test_zoom_buttons_have_one_place_and_the_hint_a_line(opened: Open) -> None:
    page = opened(FLEET, width=1440, height=900)
    for width in (1440, 1280, 700, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for at in (FLEET, f"{FLEET}?color=job"):
            go(page, at)
            expect(page.locator(".job-key")).to_have_count(int(width <= 700 and "job" in at))
            foot, zoom, hint = (page.locator(each).bounding_box() for each in (".under", ".zoom", ".hint"))
            assert foot
            assert zoom
            assert hint
            assert zoom["y"] - foot["y"] == pytest.approx(13, abs=1), width  # the padding
            assert foot["x"] + foot["width"] - zoom["x"] - zoom["width"] == pytest.approx(16, abs=1), width
            assert hint["x"] - foot["x"] == pytest.approx(16, abs=1), width
            assert width < 1000 or hint["height"] < 30, width
    expect(told(page)).to_have_text(
        "Each block is a domain, with its servers apart. Click a chip to select it, double-click to open its domain."
    )


@pytest.mark.slow
def test_a_frame_leaves_the_names_of_the_next_row_free(opened: Open) -> None:
    page = opened(FLEET, width=1200, height=800)
    page.evaluate("""() => {
        window.names = []
        const draw = CanvasRenderingContext2D.prototype.fillText
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            window.names.push([text, x, y])
            draw.call(this, text, x, y)
        }
    }""")
    for width in (1200, 700, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("window.names = []")
        go(page, f"{FLEET}?sel=d1/s0/c0&at={width}")
        page.wait_for_function("window.names.some(([name]) => name == 'd1')")
        stage, frame = (page.locator(each).bounding_box() for each in ("canvas", ".shown-frame"))
        assert stage
        assert frame
        tops = [
            y + stage["y"] - 8
            for _, x, y in page.evaluate("window.names")
            if frame["x"] < x + stage["x"] < frame["x"] + frame["width"] and y + stage["y"] > frame["y"] + 20
        ]
        assert tops
        assert min(tops) > frame["y"] + frame["height"], width
    page.reload()  # draws by itself again


@pytest.mark.slow
def test_a_whole_domain_has_the_name_of_its_job_or_its_letter_where_that_is_too_long(opened: Open) -> None:
    page = opened(FLEET, width=1440, height=900)
    page.evaluate("""() => {
        window.drawn = new Set()
        const draw = CanvasRenderingContext2D.prototype.fillText
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
            window.drawn.add(text)
            draw.call(this, text, ...at)
        }
    }""")
    # batch would fit where pretrain does not
    for width, shown, hidden in ((1440, {"pretrain", "batch"}, {"A"}), (390, {"A"}, {"pretrain", "batch"})):
        page.set_viewport_size({"width": width, "height": 900})
        go(page, FLEET)
        page.evaluate("window.drawn = new Set()")
        go(page, f"{FLEET}?color=job")
        page.wait_for_function("texts => texts.every(text => window.drawn.has(text))", arg=[*shown])
        assert not hidden & {*page.evaluate("[...window.drawn]")}
    page.reload()  # draws by itself again


@pytest.mark.slow
def test_colors_say_who_holds_what_and_the_legend_fades_the_rest(opened: Open, service_database: str) -> None:
    page = opened(f"{FLEET}?color=job")
    keys = page.locator(".keys")
    jobs = "128 pretrain", "16 eval", "64 batch"  # of which a chip is down
    rest = "2,815 free", "16 reserved", "16 cordoned", "17 chips down", "1 chip degraded", "1 chip in maintenance"
    for says in (*jobs, *rest):
        expect(keys.get_by_role("button", name=says, exact=True)).to_be_visible()
    expect(page.locator(".twice")).to_contain_text("1 of the 17 down is in batch; the one degraded is free")
    expect(keys).to_contain_text("1 link down")  # which has a marker too
    causes = page.get_by_role("list", name="Causes")
    expect(causes.get_by_role("link", name="d7/s0/c4")).to_contain_text("hits batch")
    with trninv.open(service_database) as fleet:
        capacity = fleet.free("lab")
    assert (capacity.free, capacity.reserved, capacity.cordoned, capacity.allocated) == (2_815, 16, 16, 208)
    all_of_it = shot(page)
    held, free = (0x2B, 0x8C, 0xEB), (0xE1, 0xE5, 0xEB)
    assert np.count_nonzero(alike(all_of_it, held)) > np.count_nonzero(alike(all_of_it, (0x91, 0xC2, 0x32)))
    rows, columns = np.nonzero(alike(all_of_it, (0x49, 0xCA, 0xB0)))  # batch, whose name is dark
    inside = all_of_it[rows.min() : rows.max(), columns.min() : columns.max()]
    assert np.count_nonzero(alike(inside, (0x12, 0x16, 0x1C))) > 5
    keys.get_by_role("button", name="2,815 free").click()
    page.wait_for_url(re.compile("only=free"))
    assert page.locator(".marker").count() > 0
    faded = shot(page)
    assert np.count_nonzero(alike(faded, held)) == 0
    assert np.count_nonzero(alike(faded, free)) == pytest.approx(np.count_nonzero(alike(all_of_it, free)), rel=0.05)
    tint = tuple(round(255 - 0.15 * (255 - each)) for each in held)
    assert np.count_nonzero(alike(faded, tint)) > 1_000  # type: ignore[arg-type] # three
    keys.get_by_role("button", name="2,815 free").click()
    page.get_by_role("radio", name="Free block").check()
    expect(keys.get_by_role("button", name=re.compile("no free chips"))).to_contain_text("191")
    page.get_by_role("radio", name="Memory pool").check()
    expect(keys.get_by_role("button", name=re.compile("pools 52 to 64 chips"))).to_contain_text("3,005")
    page.get_by_role("radio", name="Rack").check()
    expect(keys.get_by_role("button")).to_have_count(5)


@pytest.mark.slow
def test_a_job_is_on_its_chips_whatever_their_state(opened: Open) -> None:
    page = opened(f"{FLEET}?color=job&zoom=25&at=d7&sel=d7/s0/c0&only=job1")
    expect(page.locator(".keys [aria-pressed=true]")).to_have_text(re.compile("64 batch"))
    page.locator("canvas.fleet").focus()
    page.keyboard.press("ArrowDown")
    expect(told(page)).to_contain_text(re.compile(r"^lab/d7/s0/c4: down, HBM errors, .*job batch"))
    near = alike(shot(page), DOWN["light"])  # its badge
    assert np.count_nonzero(near) > 12
    with page.expect_download() as download:
        page.get_by_role("button", name="Download SVG").click()
    assert download.value.path().read_text().count('fill="#c2182b"') == 2  # the server without a job; and a mark


@pytest.mark.slow
def test_arrows_go_chip_by_chip_and_a_fleet_pans_and_zooms(opened: Open) -> None:
    page = opened(FLEET)
    canvas = page.locator("canvas.fleet")
    canvas.focus()
    for key, at in {
        "ArrowRight": "d0/s0/c0: up",
        "ArrowDown": "d0/s0/c4: up",
        "ArrowLeft": None,
        "Shift+ArrowRight": "d1/s0/c4",
    }.items():
        page.keyboard.press(key)
        if at:
            expect(told(page)).to_contain_text(f"lab/{at}")
    page.keyboard.press(" ")
    page.wait_for_url(re.compile("sel=d1/s0/c4"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name=re.compile("About"))).to_have_count(0)
    canvas.hover()
    page.mouse.wheel(0, -400)
    page.wait_for_url(re.compile("zoom=2.7"))
    page.mouse.down()
    page.mouse.move(500, 500)
    page.mouse.up()
    page.mouse.move(5, 5)
    canvas.blur()
    kept, seen = page.evaluate("location.href"), shot(page)
    page.reload()
    settled(page)
    page.mouse.move(5, 5)
    assert page.evaluate("location.href") == kept
    assert np.abs(shot(page) - seen).max() <= 2  # what smooths a corner of the frame is not exact
    page.reload()
    settled(page)
    page.get_by_role("button", name="Show all").click()
    assert "zoom=" not in page.evaluate("location.href")
    page.get_by_text("markers as a table").click()
    expect(page.locator("tr", has_text="lab/d30/s2")).to_contain_text(re.compile("down *16 *BMC silent"))


def system(page: Page, name: str) -> tuple[int, int, int]:
    """A color of the system."""
    found = page.evaluate(
        """name => {
            const probe = document.body.appendChild(document.createElement('i'))
            probe.style.color = name
            const color = getComputedStyle(probe).color.match(/[0-9]+/g).slice(0, 3).map(Number)
            probe.remove()
            return color
        }""",
        name,
    )
    return tuple(found)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", DOWN)
def test_without_colors_states_are_of_the_system_and_have_glyphs(opened: Open, scheme: str) -> None:
    """Also in the theme that was chosen before the system had a say."""
    page = opened(FLEET)
    page.evaluate("localStorage['trninv theme'] = 'light'")
    page.reload()
    settled(page)
    page.emulate_media(forced_colors="active", color_scheme="dark" if scheme == "dark" else "light")
    go(page, f"{FLEET}?zoom=1")
    ink, paper, grey = (system(page, name) for name in ("CanvasText", "Canvas", "GrayText"))
    border = page.locator(".marker.down").first.evaluate("each => getComputedStyle(each).borderColor")
    assert border == f"rgb{ink}"
    kinds = page.locator(".marker").evaluate_all("all => all.map(each => each.className.split(' ')[1])")
    assert set(kinds) == {"down", "degraded", "maintenance"}
    shapes = {page.locator(f".marker.{kind} svg").first.inner_html() for kind in set(kinds)}
    assert len(shapes) == 3
    page.add_style_tag(content=".over { visibility: hidden }")
    seen = shot(page)
    known = np.logical_or.reduce([alike(seen, color) for color in (ink, paper, grey)])
    assert np.count_nonzero(alike(seen, grey)) > 10_000
    assert known.mean() > 0.98  # the rest is the edges of names
    go(page, f"{FLEET}?zoom=25&at=d7")
    near = shot(page)
    inked = np.argwhere(alike(near, ink))
    y, x = np.median(inked, axis=0).astype(int)
    around_it = near[y - 8 : y + 8, x - 8 : x + 8].reshape(-1, 3)
    assert np.count_nonzero(alike(around_it[None], paper)) > 8  # its glyph
    go(page, f"{FLEET}?color=job&zoom=1")
    swatch = page.locator(".keys .letter").first.evaluate("each => getComputedStyle(each).backgroundColor")
    color = tuple(int(part) for part in re.findall(r"\d+", swatch))
    assert np.count_nonzero(alike(shot(page), color)) > 1_000  # type: ignore[arg-type] # three
    page.emulate_media(forced_colors="none", color_scheme="dark")
    go(page, f"{FLEET}?zoom=1.01")
    assert np.count_nonzero(alike(shot(page), UP)) > 10_000


def test_the_map_is_in_small_parts_of_its_own() -> None:
    for names in (["page.js", "page.css"], ["view.js"]):
        assert sum(len(gzip.compress((WEB_DIRECTORY / "assets" / name).read_bytes())) for name in names) < CHUNK
