"""A fabric's tiers: what each uplink carries and how much is attached to it, with states and domains."""

import json
import xml.etree.ElementTree as ET

import pytest

from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.drawing import tier_diagram
from trninv.drawing.fabric_contents import read_fabric
from trninv.drawing.tier_diagram import draw_fabric
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate

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


@pytest.mark.slow_on_postgresql
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
    assert ways["#/at/lab/d3/s0"] == "lab/d3/s0, parts maintenance"
    assert "1 chip in maintenance" in texts(root)
    assert texts(root).count("all up") == 3
    assert len(ways) == 1 + 1 + 4 + 100 + 100


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("backend", BACKENDS)
def test_tiers_are_summed_up_and_jobs_that_cross_are_drawn(databases: Databases, backend: str) -> None:
    """A NIC that is down takes from what is below its node; a job below two nodes crosses."""
    url = databases.seeded(backend)
    seed(url, "u-trn2x64", 16)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "wide", ["lab/d0/s0", "lab/d9/s1"], who="tests")
        allocate(connection, "near", ["lab/d1", "lab/d2"], who="tests")
        set_state(connection, ["lab/d3/s0/efa0"], Condition.from_user("down", None), why="x", who="tests")
    root = drawn(url, 900)
    lowest, middle, top = json.loads(root.get("data-tiers", ""))
    assert (lowest["tier"], lowest["nodes"], lowest["unhealthy"]) == (3, 2, 0)
    assert lowest["belowDesigned"] - lowest["below"] == 25_000_000_000
    assert lowest["upward"] == lowest["upwardDesigned"] == middle["below"] == lowest["belowDesigned"]
    assert lowest["worst"] == {"name": "t3/n1", "ratio": 1.0}
    assert (top["tier"], top["upward"], top["worst"]) == (1, None, None)
    jobs = json.loads(root.get("data-jobs", ""))
    assert jobs["all"] == 2
    (job,) = jobs["crossing"]
    assert (job["name"], job["chips"]) == ("wide", 32)
    assert [(node["name"], node["bandwidth"]) for node in job["nodes"]] == [("t3/n0", 4e11), ("t3/n1", 4e11)]
    assert [(job["name"], job["ordinal"]) for job in jobs["inside"]] == [("near", 1)]
    assert (texts(root).count("A"), texts(root).count("B")) == (3, 9)  # the legend has each once
    assert {"near", "wide"} <= {*texts(root)}
    assert "A wide" in texts(root)
    assert {"1 NIC down", "12,800 GB/s · 1 : 1"} <= set(texts(root))


def test_a_server_with_an_unhealthy_chip_keeps_its_job_and_a_whole_one_does_not(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    seed(url, "u-trn2x64", 4)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "train", ["lab/d0"], who="tests")
        down = Condition.from_user("down", None)
        set_state(connection, ["lab/d0/s0/c1", "lab/d0/s1"], down, why="x", who="tests")
    root = drawn(url, 900)
    servers = {
        link.get("href", "")[-2:]: link for link in root.iter(f"{SVG}a") if "/at/lab/d0/s" in link.get("href", "")
    }
    assert [texts(servers[f"s{server}"]) for server in range(4)] == [["A"], [], ["A"], ["A"]]
    (badge,) = (each for each in servers["s0"].iter(f"{SVG}rect") if each.get("width") == "11")
    (letter,) = servers["s0"].iter(f"{SVG}text")
    assert float(letter.get("y", "")) - 9 > float(badge.get("y", "")) + 11 - 2  # below the mark
    titles = [servers[name].findtext(f"{SVG}title") for name in ("s0", "s1")]
    assert titles == ["lab/d0/s0, parts down, 1 job", "lab/d0/s1, down, 1 job"]
    assert "unhealthy parts of a server" in texts(root)


def test_a_small_server_has_the_letter_of_its_job_beside_its_mark(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    seed(url, "u-trn2x64", 40)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "train", ["lab/d0"], who="tests")
        set_state(connection, ["lab/d0/s0/c1"], Condition.from_user("down", None), why="x", who="tests")
    root = drawn(url, 336)
    (server,) = (link for link in root.iter(f"{SVG}a") if link.get("href") == "#/at/lab/d0/s0")
    square, mark = server.iter(f"{SVG}rect")
    (letter,) = server.iter(f"{SVG}text")
    assert 18 <= float(square.get("width", "")) < 24
    assert letter.text == "A"
    bottom = float(mark.get("y", "")) + float(mark.get("height", ""))
    assert float(letter.get("y", "")) - 8 >= bottom - 1  # its top


def test_the_ratio_of_an_uplink_is_of_what_is_up_and_the_legend_has_each_mark(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    seed(url, "u-trn2x64", 16)
    with temporary_engine(url) as engine:
        for place, condition in (
            ("lab/d3/s0", Condition.from_user("down", None)),
            ("lab/d12/s0/c0--lab/d12/s1/c0", Condition.from_user("degraded", 0.5)),
        ):
            with write_transaction(engine) as connection:
                set_state(connection, [place], condition, why="x", who="tests")
    root = drawn(url, 900)
    assert {"12,800 GB/s · 0.97 : 1", "12,800 GB/s · 1 : 1"} <= set(texts(root))
    assert {"unhealthy server", "unhealthy link or switch"} <= set(texts(root))
    assert "unhealthy parts of a server" not in texts(root)
    (node,) = (link for link in root.iter(f"{SVG}a") if link.get("href") == "#/at/lab/fabric/t3/n0")
    assert not list(node.iter(f"{SVG}circle"))  # no sign of up above a server that is down


@pytest.mark.parametrize("width", [240, 900])
def test_many_domains_are_rows_in_which_one_failure_is_seen(
    monkeypatch: pytest.MonkeyPatch, databases: Databases, width: int
) -> None:
    monkeypatch.setattr(tier_diagram, "_MAX_DOMAINS", 50)
    url = databases.seeded("sqlite")
    seed(url, "trn2", 100)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, ["lab/d70/s0/c1"], Condition.from_user("down", None), why="x", who="tests")
        set_state(connection, ["lab/d99/s0"], Condition.from_user("maintenance", None), why="x", who="tests")
        set_state(connection, ["lab/fabric/t3/n1"], Condition.from_user("down", None), why="x", who="tests")
        allocate(connection, "half", [f"lab/d{domain}" for domain in range(50)], who="tests")
    root = drawn(url, width)
    ways = {link.get("href"): link for link in root.iter(f"{SVG}a")}
    assert ways.keys() == {"#/at/lab/fabric/t2/n0", "#/at/lab/fabric/t3/n1", "#/domain/lab/d70", "#/domain/lab/d99"}
    assert {"0", "100 domains", "t2/n0"} <= set(texts(root))
    assert ("d70: 1 chip" in texts(root)) == (width == 900)  # else there is no space beside its mark
    marks = [ways[way].find(f"{SVG}circle") for way in ways if way != "#/at/lab/fabric/t2/n0"]
    assert all(mark is not None and float(mark.get("r", 0)) >= 8 for mark in marks)
    assert all(0 <= float(mark.get("cx", 0)) <= width for mark in marks if mark is not None)
    shaded = [box for box in root.iter(f"{SVG}rect") if box.get("fill-opacity")]
    assert len(shaded) == 1


@pytest.fixture(scope="module")
def lab(databases: Databases) -> str:
    url = databases.seeded("sqlite")
    seed(url, "trn2", 100)
    return url


@pytest.mark.parametrize("width", [240, 344, 900, 1500])
@pytest.mark.parametrize("limit", [60, 3])
def test_everything_lies_within_the_picture(monkeypatch: pytest.MonkeyPatch, lab: str, limit: int, width: int) -> None:
    """With the nodes of the lowest tier one by one, and, if there are more of them than a limit, with rows."""
    monkeypatch.setattr(tier_diagram, "_MAX_LEAVES", limit)
    root = drawn(lab, width)
    _, _, wide, high = map(float, root.get("viewBox", "").split())
    assert wide == width
    boxes = [{key: float(box.get(key, 0)) for key in ("x", "y", "width", "height")} for box in root.iter(f"{SVG}rect")]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width + 0.1 for box in boxes)
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= high for box in boxes)
    assert all(float(text.get("font-size", 0)) >= 11 for text in root.iter(f"{SVG}text"))
    nodes = [link for link in root.iter(f"{SVG}a") if "/fabric/" in link.get("href", "")]
    places = {tuple(box.get(key) for key in ("x", "y")) for link in nodes for box in link.findall(f"{SVG}rect")[:1]}
    assert len(places) == len(nodes) == (6 if limit == 60 else 1)
