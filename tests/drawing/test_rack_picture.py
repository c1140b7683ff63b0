"""A rack's elevation says of every tray and chip what somebody in front of it needs."""

import re
import xml.etree.ElementTree as ET

import pytest

from conftest import BACKENDS, Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.drawing.rack_contents import read_rack
from trninv.drawing.rack_elevation import draw_rack
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon

SVG = "{http://www.w3.org/2000/svg}"
D = "u-trn2x64/d0"


def drawn(url: str, rack: str, width: float) -> ET.Element:
    with temporary_engine(url) as engine, engine.connect() as connection:
        picture = draw_rack(read_rack(connection, resolve_place(connection, rack)), width).to_page()
    return ET.fromstring(picture)  # noqa: S314 # our own picture


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def links(root: ET.Element) -> dict[str, str]:
    return {link.get("href", ""): link.findtext(f"{SVG}title") or "" for link in root.iter(f"{SVG}a")}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_rack_says_what_is_down_why_and_whose_job_it_is(run: Run, databases: Databases, backend: str) -> None:
    url = databases.seeded(backend)
    with temporary_engine(url) as engine:
        for address, state, why in ((f"{D}/s1", "down", "Power & <fan>"), (f"{D}/s0/c5", "maintenance", "swap")):
            with write_transaction(engine) as connection:
                set_state(connection, [address], Condition.from_user(state, None), why=why, who="m.chen")
        with write_transaction(engine) as connection:
            allocate(connection, "ft", [f"{D}/s0/c0", f"{D}/s0/c3"], who="tests")
            cordon(connection, [f"{D}/s0"], who="tests", why="firmware")
    for name in ("i-0c31f07ab62e8d915", "ip-10-4-7-23"):
        slot = f"{D}/s{int(name.startswith('i-'))}"
        assert run("bind", slot, name, database=url)[0] == 0
    root = drawn(url, "u-trn2x64/r0", 900)
    says = texts(root)
    assert "1 server, 16 chips, 16 NICs down" in says
    assert "1 chip in maintenance" in says
    assert {
        "15 chips up",
        "Power & <fan>",
        "set by m.chen",
        "16 chips down with it",
        "U19 to U36",
        "U37 to U42: not documented",
    } <= set(says)
    assert {
        "15 of 16 chips up",
        "cordoned: firmware",
        "job ft",
        "host ip-10-4-7-23",
        "i-0c31f07ab62e8d915",
        "U1 to U18",
    } <= set(says)
    assert "with its server" not in says
    assert any(re.match(r"since \d\d-\d\d \d\d:\d\d UTC", text) for text in says)
    assert {str(unit) for unit in range(1, 43)} <= set(says)
    ways = links(root)
    assert ways[f"#/at/{D}/s0/c5"] == f"{D}/s0/c5, maintenance, swap"
    assert ways[f"#/at/{D}/s1/c2"] == f"{D}/s1/c2, down, with its server"
    assert ways[f"#/at/{D}/s0/c3"] == f"{D}/s0/c3, up, job ft"
    assert ways[f"#/jobs?in={D}&sel=ft"] == "Jobs: ft"
    assert len(ways) == 2 + 32 + 1
    assert {"16 of 16 NICs down", "16 NICs", "A", "c5: swap"} <= set(says)
    narrow = texts(drawn(url, "u-trn2x64/r0", 320))
    assert {"s0", "s1", "down", "Power & <fan>", "tray 8", "head", "U37 to U42: not documented"} <= set(narrow)
    assert {"15 of 16 chips up · A ft", "16 chips down with it · no jobs"} <= set(narrow)
    assert {"host ip-10-4-7-23", "U1 to U18"} <= set(narrow)
    assert {"c5: swap", "cordoned: firmware", "A", "i-0c31f07ab62e8d915"} <= set(narrow)
    assert "42" not in narrow


def test_a_server_without_jobs_says_so_once(databases: Databases) -> None:
    says = texts(drawn(databases.seeded("sqlite"), "u-trn2x64/r0", 900))
    assert says.count("no jobs") == 2
    assert "no job" not in says


def test_a_narrow_rack_keeps_what_names_differ_in(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    hosts = [f"trn2-prod-use2-az1-row3-hall-2-host-{number:04}.us-east-2.compute.internal" for number in range(2)]
    jobs = [f"llama-3-405b-pretrain-with-a-long-name-{number:02}" for number in range(2)]
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for number, job in enumerate(jobs):
            allocate(connection, job, [f"{D}/s{number}"], who="tests")
    for number, host in enumerate(hosts):
        assert run("bind", f"{D}/s{number}", host, database=url)[0] == 0
    root = drawn(url, "u-trn2x64/r0", 360)
    says = texts(root)
    for number, letter in enumerate("AB"):
        assert any(text.startswith("host trn2") and text.endswith(f"-{number:04}") for text in says)
        assert any(
            text.startswith(f"16 of 16 chips up · {letter} llama") and text.endswith(f"-0{number}") for text in says
        )
        assert says.count(letter) == 8  # one a tray
    assert not any(text.endswith("…") for text in says)


def test_servers_of_several_domains_are_named_with_theirs(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(4), name="lab")
    assert {"d2/s0", "d3/s0"} <= set(texts(drawn(url, "lab/r1", 900)))


@pytest.mark.parametrize("width", [240, 320, 599, 600, 1100])
@pytest.mark.parametrize(
    "rack", ["u-trn2x64/r1", "trn3-gen1/r1", "trn3-gen2/r0", "trn1.32xlarge/r0", "trn1.2xlarge/r0"]
)
def test_everything_lies_within_the_picture_and_no_chip_on_another(databases: Databases, rack: str, width: int) -> None:
    root = drawn(databases.seeded("sqlite"), rack, width)
    _, _, wide, high = map(float, root.get("viewBox", "").split())
    assert wide == width
    boxes = [
        {key: float(box.get(key, 0)) for key in ("x", "y", "width", "height")}
        for box in root.iter(f"{SVG}rect")
        if box.get("x")
    ]
    assert all(
        box["x"] >= 0 and box["x"] + box["width"] <= width + 0.1 and box["y"] + box["height"] <= high for box in boxes
    )
    assert all(float(text.get("font-size", 0)) >= 11 for text in root.iter(f"{SVG}text"))
    chips = [link.find(f"{SVG}rect") for link in root.iter(f"{SVG}a") if "/c" in link.get("href", "")]
    places = {(box.get("x"), box.get("y")) for box in chips if box is not None}
    assert len(places) == len(chips) > 0
    assert "heights not documented" in " ".join(texts(root)) or "U1 to U18" in " ".join(texts(root))


def test_a_file_has_no_links_and_colours_of_its_own(run: Run, lite: str) -> None:
    status, out, _ = run("draw", "u-trn2x64/r0", "-o", "-", database=lite)
    assert status == 0
    assert "<title>u-trn2x64/r0</title>" in out
    assert not re.search(r"<a |href|var\(", out)
