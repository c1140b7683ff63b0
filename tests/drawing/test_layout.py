"""One layout for the command line, GraphQL and the explorer; a wiring that nobody knows is drawn by none of them."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import pytest
from sqlalchemy import text

from conftest import Ask, Databases, Run
from trninv.database.engine import temporary_engine, write_transaction

pytestmark = pytest.mark.slow_on_postgresql

LAYOUT = (
    "{ layout(place: %s) { wiring isRotatable wrapLinks places { address x y solid { x y z } } routes { "
    "address strokes } } }"
)
PICTURE = """{ layout(place: "%s/d0", narrow: %s) {
    font box { width height } places { address x y width height text } labels { text x y anchor } } }"""
SVG = "{http://www.w3.org/2000/svg}"


def _parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 # our own picture


def _drawn(svg: str) -> dict[str, tuple[float, float]]:
    """Centres of chips and switches."""
    found = {}
    for element in _parsed(svg).iter():
        title = element.findtext(f"{SVG}title") or ""
        if match := re.fullmatch(r"(\S+/(?:c|sw)\d+), up", title):
            x, y = (float(element.get(f"c{key}") or element.get(key) or 0) for key in "xy")
            wide, high = (float(element.get(key) or 0) for key in ("width", "height"))
            found[match[1]] = x + wide / 2, y + high / 2
    return found


def _ways(svg: str) -> dict[str, list[list[float]]]:
    """Lines of links."""
    found: dict[str, list[list[float]]] = {}
    for line in _parsed(svg).iter(f"{SVG}polyline"):
        address = (line.findtext(f"{SVG}title") or "").split(":")[0]
        found.setdefault(address, []).append([float(each) for each in re.split("[ ,]", line.get("points") or "")])
    return found


@pytest.mark.parametrize(
    ("scope", "wiring", "turns", "wrapping"),
    [
        ("trn1.2xlarge", "single", False, 0),
        ("trn1.32xlarge", "torus", True, 8),
        ("u-trn2x64", "torus", True, 48),
        ("trn3-gen1", "switched", False, 0),
        ("trn3-gen2", "switched", False, 0),
    ],
)
def test_graphql_and_the_picture_place_parts_alike(
    ask: Ask, run: Run, lite: str, scope: str, wiring: str, turns: bool, wrapping: int
) -> None:
    layout = ask(LAYOUT % f'"{scope}/d0"')["data"]["layout"]
    assert (layout["wiring"], layout["isRotatable"], len(layout["wrapLinks"])) == (wiring, turns, wrapping)
    status, svg, _ = run("draw", scope, "-o", "-", database=lite)
    assert status == 0
    drawn = _drawn(svg)
    assert drawn.keys() == {place["address"] for place in layout["places"]}
    for place in layout["places"]:
        assert drawn[place["address"]] == pytest.approx((place["x"], place["y"]), abs=0.051)
        assert (place["solid"] is not None) == turns
    ways = _ways(svg)
    assert ways.keys() == {route["address"] for route in layout["routes"]}
    for route in layout["routes"]:
        assert ways[route["address"]] == [pytest.approx(stroke, abs=0.11) for stroke in route["strokes"]]


Boxed = tuple[str, float, float, float, float]


def _texts(layout: dict[str, Any]) -> Iterator[Boxed]:
    """Every text with the box that it takes up, in a font as wide as any."""
    font = layout["font"]
    for place in layout["places"]:
        along, across = 0.62 * font * len(place["text"]), 0.8 * font
        wide, high = (across, along) if place["height"] > place["width"] else (along, across)
        assert wide <= place["width"]
        assert high <= place["height"]
        yield place["address"], place["x"] - wide / 2, place["y"] - high / 2, wide, high
    for label in layout["labels"]:
        wide = 0.62 * font * len(label["text"])
        left = label["x"] - wide * {"start": 0, "middle": 0.5, "end": 1}[label["anchor"]]
        yield label["text"], left, label["y"] - 0.8 * font, wide, 0.8 * font


def _overlap(a: Boxed, b: Boxed) -> bool:
    return a[1] < b[1] + b[3] and b[1] < a[1] + a[3] and a[2] < b[2] + b[4] and b[2] < a[2] + a[4]


@pytest.mark.parametrize("scope", ["trn1.32xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"])
@pytest.mark.parametrize(("narrow", "pixels"), [("false", 780), ("true", 350)])
def test_every_text_is_legible_and_none_lies_on_another(ask: Ask, scope: str, narrow: str, pixels: int) -> None:
    """780 pixels are left for a picture of 1280 × 720, 350 on a phone; 11 are the least height."""
    layout = ask(PICTURE % (scope, narrow))["data"]["layout"]
    assert layout["font"] * pixels / layout["box"]["width"] >= 11
    texts = list(_texts(layout))
    assert [(a[0], b[0]) for a, b in combinations(texts, 2) if _overlap(a, b)] == []


@pytest.mark.parametrize("narrow", ["false", "true"])
def test_no_link_runs_through_the_name_of_a_server(ask: Ask, narrow: str) -> None:
    query = '{ layout(place: "u-trn2x64/d0", narrow: %s) { font labels { text x y anchor } routes { strokes } } }'
    layout = ask(query % narrow)["data"]["layout"]
    points = [point for route in layout["routes"] for line in route["strokes"] for point in pairwise(_points(line))]
    upright = [(a[0], min(a[1], b[1]), max(a[1], b[1])) for a, b in points if a[0] == b[0]]
    assert upright
    for label in layout["labels"]:
        width = 0.72 * layout["font"] * len(label["text"])
        left = label["x"] - (width if label["anchor"] == "end" else 0)
        crossing = [x for x, top, bottom in upright if left - 3 < x < left + width + 3 and top < label["y"] < bottom]
        assert crossing == [], label


def _points(line: list[float]) -> list[tuple[float, float]]:
    return list(zip(line[::2], line[1::2], strict=True))


def test_the_links_between_servers_of_a_row_have_heights_of_their_own(ask: Ask) -> None:
    routes = ask(LAYOUT % '"u-trn2x64/d0"')["data"]["layout"]["routes"]
    ring = [route["strokes"][0] for route in routes if "/s0/" in route["address"] and "/s1/" in route["address"]]
    assert len({y for _, y, _, _ in ring}) == 16
    assert all(start == end for _, start, _, end in ring)


def test_an_ultraserver_in_space_is_a_cube_about_its_middle(ask: Ask) -> None:
    layout = ask(LAYOUT % '"u-trn2x64/d0"')["data"]["layout"]
    at = {place["address"]: tuple(place["solid"].values()) for place in layout["places"]}
    assert at["u-trn2x64/d0/s0/c0"] == (-165, -165, -165)
    assert at["u-trn2x64/d0/s3/c1"] == (-55, -165, 165)
    assert at["u-trn2x64/d0/s1/c4"] == (-165, -55, -55)


@pytest.mark.parametrize(
    ("server", "chips", "links", "wrapping"), [("u-trn2x64/d0/s2", 16, 32, 8), ("trn3-gen2/d0/s5", 4, 8, 0)]
)
def test_a_server_has_a_layout_of_its_own(ask: Ask, server: str, chips: int, links: int, wrapping: int) -> None:
    """A plane of a torus is drawn upright, as a domain of one server is; a switched server with its switches."""
    layout = ask(LAYOUT % f'"{server}"')["data"]["layout"]
    places = {place["address"]: (place["x"], place["y"]) for place in layout["places"]}
    assert sum("/c" in address for address in places) == chips
    assert all(address.startswith(server) for address in places if "/c" in address)
    assert (len(layout["routes"]), len(layout["wrapLinks"])) == (links, wrapping)
    if chips == 16:
        assert len({x for x, _ in places.values()}) == len({y for _, y in places.values()}) == 4


@pytest.mark.parametrize("scope", ["u-trn2x64", "u-trn2x64/r0", "u-trn2x64/d0/s0/c0"])
def test_only_domains_and_servers_have_a_layout(ask: Ask, scope: str) -> None:
    error = ask(LAYOUT % f'"{scope}"')["errors"][0]
    assert error["message"] == f"{scope} is neither a domain nor a server; name one, such as u-trn2x64/d0"
    assert error["extensions"]["code"] == "WRONG_LEVEL"


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    "command",
    [
        ["draw", "u-trn2x64", "-o", "-"],
        ["show", "u-trn2x64/d0"],
        ["path", "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s1/c5"],
        ["bisection", "u-trn2x64"],
        ["query", LAYOUT % '"u-trn2x64/d0"'],
    ],
    ids=lambda command: command[0],
)
def test_an_unknown_wiring_is_refused_by_name_everywhere(
    run: Run, databases: Databases, backend: str, command: list[str]
) -> None:
    """As a newer trninv, with a pattern more, may have seeded it."""
    url = databases.seeded(backend)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        connection.execute(text("UPDATE domain_model SET wiring = 'moebius' WHERE slug = 'u-trn2x64'"))
    status, out, error = run(*command, database=url)
    assert status == 1
    assert "no wiring pattern 'moebius'; use one of chain, " in (out if command[0] == "query" else error)
    assert "<svg" not in out
