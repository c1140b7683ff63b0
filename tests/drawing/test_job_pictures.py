"""Pictures of jobs: every chip says who holds it, in words, by a letter and by a colour that can be read."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
from tampering import tamper

import trninv
from conftest import SYSTEMS, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.drawing import palette
from trninv.drawing.svg import PAPER, resolve_tokens
from trninv.inventory.seeding import cluster_seeding

pytestmark = pytest.mark.slow_on_postgresql

SVG = "{http://www.w3.org/2000/svg}"
U = "u-trn2x64/d0"


def luminance(colour: str) -> float:
    """Relative, as WCAG 2 defines it."""
    colour = resolve_tokens(colour)
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    dark, light = sorted([luminance(a), luminance(b)])
    return (light + 0.05) / (dark + 0.05)


def titles(text: str) -> list[str]:
    root = ET.fromstring(text)  # noqa: S314 # our own picture
    return [title.text or "" for title in root.iter(f"{SVG}title")]


def texts(text: str) -> list[str]:
    root = ET.fromstring(text)  # noqa: S314 # our own picture
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def drawn(run: Run, *arguments: str, database: str) -> str:
    status, out, error = run("draw", *arguments, "--jobs", "-o", "-", database=database)
    assert status == 0, error
    return out


def test_letters_are_readable_and_hatches_seen_on_every_colour() -> None:
    assert len(set(palette.JOB_COLORS)) == 12
    for colour in palette.JOB_COLORS:
        assert contrast(colour, colour.replace("--", "--on-")) >= 4.5  # of letters on it, and of a hatch over it
    assert all(contrast(colour, PAPER) >= 3 for colour in palette.CAPACITY_COLORS)
    shades = [luminance(colour) for colour in palette.CAPACITY_COLORS]
    assert shades == sorted(shades, reverse=True)


def test_no_two_jobs_of_a_domain_look_alike() -> None:
    looks = [(palette.job_color(at), palette.job_hatch_angle(at)) for at in range(60)]
    assert all(a != b for a, b in combinations(looks, 2))
    assert len({palette.job_letters(at) for at in range(1_000)}) == 1_000
    assert [palette.job_letters(at) for at in (0, 25, 26, 27, 52)] == ["A", "Z", "AA", "AB", "BA"]


def test_every_chip_says_who_holds_it(run: Run, seeded: str) -> None:
    name = "<b>&\"' " + "x" * 60
    with trninv.open(seeded) as fleet:
        fleet.allocate("big", [f"{U}/s0", "u-trn2x64/d0/s1/c0-3"], spares=[f"{U}/s1/c4-7"], who="me")
        fleet.allocate(name, [f"{U}/s2/c0"], who="me")
        fleet.cordon([f"{U}/s3"], who="me", why="firmware")
    for chip in (f"{U}/s2/c0", f"{U}/s2/c1"):
        assert run("set", chip, "down", "--why", "x", database=seeded)[0] == 0
    shown = drawn(run, "u-trn2x64", "--propose", "2x3x1", database=seeded)
    of = dict(title.split(", ", 1) for title in titles(shown) if ", " in title)
    assert len(of) == 64
    assert (of[f"{U}/s0/c5"], of[f"{U}/s1/c5"], of[f"{U}/s1/c9"]) == ("job big", "job big, spare", "free")
    assert (of[f"{U}/s2/c0"], of[f"{U}/s2/c1"]) == (f"job {name}, down", "down")
    assert of[f"{U}/s3/c3"] == "cordoned"
    says = texts(shown)
    assert (says.count("A"), says.count("B")) == (24 + 1, 1 + 1)
    assert any(re.match(r"big: 24 chips, 4 of them spare, since \d{4}-\d\d-\d\d \d\d:\d\d UTC", each) for each in says)
    assert any(each.startswith("<b>&\"' xxx") and "…: 1 chip, since" in each for each in says)
    assert {"ringed: proposed placement", "2x3x1 (6 chips):  positions in 1 domain of u-trn2x64"} <= {
        re.sub(r": \d+ positions", ":  positions", each) for each in says
    }
    rings = re.findall(
        r'<rect x="([\d.-]+)" y="([\d.-]+)" width="35" height="35" rx="17.5" class="proposal" visibility="visible"',
        shown,
    )
    assert len(set(rings)) == 6
    assert shown == drawn(run, "u-trn2x64", "--propose", "2x3x1", database=seeded)
    supposed = drawn(run, f"{U}/s1", "--down", f"{U}/s1/c9", "--chips", "16", database=seeded)
    assert f"{U}/s1/c9, down" in titles(supposed)
    assert f"no place for 16 chips in {U}/s1: no domain has 16 chips usable" in texts(supposed)
    assert "A" in texts(supposed)
    assert any(each.startswith("big: 8 chips of its 24, 4 of them spare") for each in texts(supposed))


def test_reserved_chips_are_not_free(run: Run, seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        fleet.allocate("a", [f"{U}/s0/c0"], who="me")
        fleet.reserve("next", [f"{U}/s0"], until="2h", maintenance=True, who="me")
        fleet.set_state([f"{U}/s0/c1"], "down", why="x", who="me")
        free = fleet.free(U)
    shown = drawn(run, U, database=seeded)
    of = dict(title.split(", ", 1) for title in titles(shown) if ", " in title)
    assert [of[f"{U}/s0/c{chip}"] for chip in range(3)] == ["job a", "down", "reserved"]
    assert {f"{free.free} free", f"{free.reserved} reserved", f"{free.unusable} unusable"} <= set(texts(shown))
    assert (free.free, free.reserved, free.unusable) == (48, 14, 1)


def test_a_name_with_what_xml_has_not_is_drawn(run: Run, seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        fleet.allocate("held", [f"{U}/s0"], who="me")
        tamper(fleet.engine, "UPDATE job SET name = :name", "job", name="a\ufffe\uffff\x1b\U0001f680<b")
    of = dict(title.split(", ", 1) for title in titles(drawn(run, U, database=seeded)) if ", " in title)
    assert of[f"{U}/s0/c5"] == "job a\ufffd\ufffd\\u001b\U0001f680<b"


def test_every_wiring_is_drawn(run: Run, lite: str) -> None:
    for system in SYSTEMS:
        shown = titles(drawn(run, system.slug, database=lite))
        assert sum(title.endswith(", free") for title in shown) == system.domain.blueprint.chips


def test_a_fleet_shows_the_largest_free_block_of_each_domain(run: Run, seeded: str) -> None:
    with temporary_engine(seeded) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64").resized(4), name="lab")
    with trninv.open(seeded) as fleet:
        fleet.allocate("a", ["lab/d0"], who="me")
        fleet.allocate("b", ["lab/d1/s0"], who="me")
        histogram = {each.chips: each.domains for each in fleet.free("lab").histogram}
    shown = drawn(run, "lab", database=seeded)
    domains = sum(histogram.values())
    assert histogram == {64: domains - 2, 48: 1, 0: 1}
    status, _, error = run("draw", "lab", "--jobs", "--chips", "4", "-o", "-", database=seeded)
    assert (status, "name one, such as lab/d0" in error) == (2, True)
    counted = f"64 chips or more: {domains - 2} domain" + ("s" if domains > 3 else "")
    assert [each for each in titles(shown) if ": " in each] == [
        counted,
        "32 to 63 chips: 1 domain",
        "no free chips: 1 domain",
    ]
    assert {counted, "no free chips: 1 domain"} <= set(texts(shown))
    assert sum(path.count("M") for path in re.findall(r' d="([^"]*)"', shown)) == domains


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["u-trn2x64", "--propose", "4x4x1"], "add --jobs"),
        (["u-trn2x64", "--jobs", "--propose", "4x4x1", "--chips", "4"], "choose one"),
        (["u-trn2x64", "--jobs", "--bisection"], "choose one"),
        (["lab", "--jobs", "--color-by", "pool"], "choose one"),
        (["lab/fabric", "--jobs"], "lab/fabric"),
        (["u-trn2x64", "--jobs", "--chips", "7"], "the nearest are 4 and 8"),
    ],
)
def test_what_can_not_be_drawn(run: Run, lite: str, arguments: list[str], says: str) -> None:
    status, _, error = run("draw", *arguments, "-o", "-", database=lite)
    assert status != 0
    assert says in error
