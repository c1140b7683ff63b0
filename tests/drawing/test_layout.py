"""One layout for the command line, GraphQL and the explorer; a wiring that nobody knows is drawn by none of them."""

import re
import xml.etree.ElementTree as ET

import pytest
from sqlalchemy import text

from conftest import Ask, Databases, Run
from trninv.inventory.database import connect, writing

LAYOUT = "{ layout(of: %s) { wiring turns wrapping places { address x y solid { x y z } } } }"
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
            off = (17, 9) if element.tag == f"{SVG}rect" else (0, 0)
            found[match[1]] = x + off[0], y + off[1]
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
    assert (layout["wiring"], layout["turns"], len(layout["wrapping"])) == (wiring, turns, wrapping)
    status, svg, _ = run("draw", scope, "-o", "-", database=lite)
    assert status == 0
    drawn = _drawn(svg)
    assert drawn.keys() == {place["address"] for place in layout["places"]}
    for place in layout["places"]:
        assert drawn[place["address"]] == pytest.approx((place["x"], place["y"]), abs=0.051)
        assert (place["solid"] is not None) == turns
    stubs = [line.findtext(f"{SVG}title") or "" for line in _parsed(svg).iter(f"{SVG}line")]
    twice = {title.split(":")[0] for title in stubs if stubs.count(title) == 2}
    assert twice == set(layout["wrapping"])


def test_an_ultraserver_in_space_is_a_cube_about_its_middle(ask: Ask) -> None:
    layout = ask(LAYOUT % '"u-trn2x64/d0"')["data"]["layout"]
    at = {place["address"]: tuple(place["solid"].values()) for place in layout["places"]}
    assert at["u-trn2x64/d0/s0/c0"] == (-165, -165, -165)
    assert at["u-trn2x64/d0/s3/c1"] == (-55, -165, 165)
    assert at["u-trn2x64/d0/s1/c4"] == (-165, -55, -55)


@pytest.mark.parametrize("scope", ["u-trn2x64", "u-trn2x64/r0", "u-trn2x64/d0/s0"])
def test_only_domains_have_a_layout(ask: Ask, scope: str) -> None:
    error = ask(LAYOUT % f'"{scope}"')["errors"][0]
    assert error["message"] == f"{scope} is no domain: name one, such as u-trn2x64/d0"
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
    with connect(url) as engine, writing(engine) as connection:
        connection.execute(text("UPDATE domain_model SET wiring = 'moebius' WHERE slug = 'u-trn2x64'"))
    status, out, error = run(*command, database=url)
    assert status == 1
    assert "no wiring 'moebius': known: single, switched, torus" in (out if command[0] == "query" else error)
    assert "<svg" not in out
