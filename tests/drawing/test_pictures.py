"""Pictures: what they show, that they are stable to the byte, and what is refused.

TRNINV_WRITE_BASELINE=1 rewrites tests/golden/pictures.
"""

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import BACKENDS, Databases, Run, wear
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.drawing.svg import DEGRADED, DEGRADED_FILL, DOWN, DOWN_FILL, resolve_tokens
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

pytestmark = pytest.mark.slow_on_postgresql

GOLDEN = Path(__file__).parent.parent / "golden" / "pictures"
U = "u-trn2x64/d0"


def titles(text: str) -> list[str]:
    root = ET.fromstring(text)  # noqa: S314 # our own picture
    return [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]


def drawn(run: Run, *arguments: str, database: str) -> str:
    status, out, error = run("draw", *arguments, "-o", "-", database=database)
    assert status == 0, error
    return out


@pytest.mark.parametrize(
    ("scope", "chips"),
    [
        ("trn1.2xlarge", 1),
        ("trn1.32xlarge", 16),
        ("u-trn2x64", 64),
        (f"{U}/s1", 16),
        (f"{U}/s1/c3/nc2", 1),
        ("trn3-gen1", 64),
        ("trn3-gen2", 144),
    ],
)
def test_a_wiring_shows_every_chip(run: Run, lite: str, scope: str, chips: int) -> None:
    shown = [title for title in titles(drawn(run, scope, database=lite)) if re.fullmatch(r"\S+/c\d+, up", title)]
    assert len(shown) == len(set(shown)) == chips


def test_a_marked_path_is_in_the_picture(run: Run, lite: str) -> None:
    out = drawn(run, "u-trn2x64", "--path", f"{U}/s0/c0", f"{U}/s2/c10", database=lite)
    assert "6 hops, 64 GB/s one direction" in out
    assert len(set(re.findall(r'<polyline [^>]*stroke="#12161c"[^>]*><title>([^:]*):', out))) == 6
    assert len(re.findall(r'<circle [^>]*stroke="#12161c"', out)) == 7
    assert re.findall(r'<circle [^>]*fill="#12161c"[^>]*><title>(.*?),', out) == [f"{U}/s0/c0", f"{U}/s2/c10"]


@pytest.mark.parametrize(("option", "colour"), [("--widest", "#12161c"), ("--cut", "#12161c")])
def test_other_marks(run: Run, lite: str, option: str, colour: str) -> None:
    out = drawn(run, "trn3-gen2", option, "trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s35/c3", database=lite)
    assert len(set(re.findall(rf'<polyline [^>]*stroke="{colour}"[^>]*><title>([^:]*):', out))) == 3


def test_a_state_has_a_colour_and_a_glyph(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    states = {"down": f"{U}/s1/c5", "degraded": f"{U}/s2/c0", "maintenance": f"{U}/s3/c1"}
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for state, address in states.items():
            factor = 0.5 if state == "degraded" else None
            set_state(connection, [address], Condition.from_user(state, factor), why="test", who="tests")
    out = drawn(run, U, database=url)
    for state, (ink, soft) in {"down": (DOWN, DOWN_FILL), "degraded": (DEGRADED, DEGRADED_FILL)}.items():
        soft_value, ink_value = resolve_tokens(soft), resolve_tokens(ink)
        assert re.search(f'fill="{soft_value}" stroke="{ink_value}"[^>]*><title>{states[state]}, {state}<', out)
        assert re.search(f'<path [^>]*(stroke|fill)="{ink_value}"', out)
    for legend in ("✕ down", "◐ degraded", "◆ in maintenance", "dotted: out of service"):
        assert f">{legend}<" in out


def test_what_is_down_stays_in_the_picture(run: Run, lite: str) -> None:
    out = drawn(run, "u-trn2x64", "--down", f"{U}/s0/c1", database=lite)
    assert f"{U}/s0/c1, down" in titles(out)
    assert sum("out of service" in title or "no bandwidth, one direction" in title for title in titles(out)) == 6 + 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lab", "--down", "lab/d0"], "can only be drawn in the wiring of a domain"),
        (["lab/r0", "--bisection"], "can only be drawn in the wiring of a domain"),
        (["lab/fabric", "--down", "lab/d0"], "can only be drawn in the wiring of a domain"),
        (["lab/d0", "--color-by", "pool"], "coloring needs a cluster"),
        (["lab/d0/fabric"], "not an address|lab/d0/fabric"),
        (["u-trn2x64/d0/s0", "--cut", f"{U}/s1/c0", f"{U}/s2/c0"], "the marks leave"),
    ],
)
def test_what_a_picture_does_not_show_is_refused(
    run: Run, databases: Databases, arguments: list[str], says: str
) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(3), name="lab")
    status, _, error = run("draw", *arguments, "-o", "-", database=url)
    assert status == 2
    assert re.search(says, error)


def test_what_a_fabric_carries_heeds_states(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(40), name="lab")
    assert "tier 3: 2 network nodes, 16,000 GB/s upward" in drawn(run, "LAB/fabric", database=url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, ["lab/fabric/t3/n1"], Condition.from_user("down", None), why="test", who="tests")
    assert "tier 3: 2 network nodes, 12,800 GB/s upward" in drawn(run, "lab/fabric", database=url)


def test_a_path_of_no_length(run: Run, lite: str) -> None:
    assert f"{U}/s0/c0 to {U}/s0/c0: 0 hops<" in drawn(run, U, "--path", f"{U}/s0/c0", f"{U}/s0/c0", database=lite)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pictures_are_the_same_to_the_byte(run: Run, databases: Databases, backend: str) -> None:
    url = databases.seeded(backend)
    wear(url)
    lab = default_systems().get("trn2-16.48xlarge").resized(7)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), lab, name="lab")
        set_state(connection, ["lab/d2/s0/c3", "lab/d5/s0"], Condition.from_user("down", None), why="test", who="tests")
    pictures = {
        "wiring": ["u-trn2x64", "--path", f"{U}/s0/c0", f"{U}/s3/c10"],
        "switched": ["trn3-gen1", "--bisection"],
        "rack": ["u-trn2x64/r0"],
        "rack-assumed": ["trn3-gen1/r1"],
        "fleet": ["lab"],
        "fleet-racks": ["lab", "--color-by", "rack"],
        "fabric": ["lab/fabric"],
    }
    for name, arguments in pictures.items():
        file = GOLDEN / f"{name}.svg"
        made = drawn(run, *arguments, database=url)
        if os.environ.get("TRNINV_WRITE_BASELINE"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(made)
        assert made == file.read_text(), name


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        ("u-trn2x64/fabric", "has no fabric"),
        ("nothing", "no cluster nothing"),
        (f"{U}/s0/efa1", "names a nic|is a nic|has no chips"),
        ("u-trn2x64/r7", "no u-trn2x64/r7"),
    ],
)
def test_what_has_no_picture_is_told(run: Run, lite: str, scope: str, says: str) -> None:
    status, _, error = run("draw", scope, "-o", "-", database=lite)
    assert status
    assert re.search(says, error)
    assert error.count("\n") == 1
