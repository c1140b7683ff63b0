"""A fabric's tiers: what each uplink carries and how much is attached to it, with states and domains."""

import xml.etree.ElementTree as ET

import pytest

from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.drawing import tier_diagram
from trninv.drawing.tier_diagram import draw_fabric, read_fabric
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

SVG = "{http://www.w3.org/2000/svg}"


def drawn(url: str, width: float) -> ET.Element:
    with temporary_engine(url) as engine, engine.connect() as connection:
        picture = draw_fabric(read_fabric(connection, resolve_place(connection, "lab")), width).to_page()
    return ET.fromstring(picture)  # noqa: S314 # our own picture


def seed(url: str, system: str, domains: int) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get(system).resized(domains), name="lab")


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tiers_say_what_is_carried_and_what_is_not_up(databases: Databases, backend: str) -> None:
    url = databases.seeded(backend)
    seed(url, "trn2", 100)
    assert {"t1/n0", "t2/n0", "t3/n0", "t3/n1", "t3/n2", "t3/n3", "d0", "d99"} <= set(texts(drawn(url, 900)))
    with temporary_engine(url) as engine:
        for address, state, factor in (
            ("lab/fabric/t3/n1", "down", None),
            ("lab/fabric/t3/n2--lab/fabric/t2/n0", "degraded", 0.5),
            ("lab/d3/s0/c1", "maintenance", None),
        ):
            with write_transaction(engine) as connection:
                set_state(connection, [address], Condition.from_user(state, factor), why="x", who="tests")
    root = drawn(url, 900)
    assert {"1 network node down", "1 uplink degraded", "carries nothing", "6,400 GB/s · 2 : 1"} <= set(texts(root))
    assert texts(root).count("12,800 GB/s · 1 : 1") == 1
    ways = {link.get("href"): link.findtext(f"{SVG}title") or "" for link in root.iter(f"{SVG}a")}
    assert ways["#/at/lab/fabric/t3/n1"].startswith("lab/fabric/t3/n1, down; uplink: 512 cables, ")
    assert ways["#/at/lab/fabric/t2/n0"].startswith("lab/fabric/t2/n0, up; uplink: ")
    assert ways["#/domain/lab/d3"] == "lab/d3, maintenance"
    assert len(ways) == 1 + 1 + 4 + 100


@pytest.fixture(scope="module")
def lab(databases: Databases) -> str:
    url = databases.seeded("sqlite")
    seed(url, "trn2", 100)
    return url


@pytest.mark.parametrize("width", [240, 344, 900, 1500])
@pytest.mark.parametrize("limit", [60, 3])
def test_everything_lies_within_the_picture(monkeypatch: pytest.MonkeyPatch, lab: str, limit: int, width: int) -> None:
    """With boxes for the lowest tier, and, with more nodes than a limit, with squares."""
    monkeypatch.setattr(tier_diagram, "_MAX_BOXED_LEAVES", limit)
    root = drawn(lab, width)
    _, _, wide, high = map(float, root.get("viewBox", "").split())
    assert wide == width
    boxes = [{key: float(box.get(key, 0)) for key in ("x", "y", "width", "height")} for box in root.iter(f"{SVG}rect")]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width + 0.1 for box in boxes)
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= high for box in boxes)
    assert all(float(text.get("font-size", 0)) >= 11 for text in root.iter(f"{SVG}text"))
    nodes = [link for link in root.iter(f"{SVG}a") if "/fabric/" in link.get("href", "")]
    places = {tuple(box.get(key) for key in ("x", "y")) for link in nodes for box in link.iter(f"{SVG}rect")}
    assert len(places) == len(nodes) == 6


def test_the_line_to_squares_is_down_once_none_of_their_uplinks_carries_anything(
    monkeypatch: pytest.MonkeyPatch, databases: Databases
) -> None:
    monkeypatch.setattr(tier_diagram, "_MAX_BOXED_LEAVES", 1)
    url = databases.seeded("sqlite")
    seed(url, "trn2", 40)
    for number in range(2):
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            down = Condition.from_user("down", None)
            set_state(connection, [f"lab/fabric/t3/n{number}"], down, why="test", who="tests")
        dashed = [line for line in drawn(url, 900).iter(f"{SVG}line") if line.get("stroke-dasharray")]
        assert len(dashed) == number
