"""A generation with a wiring that nobody has seen goes in by a TOML file and a pattern file, and by nothing else."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]

PATTERN = dedent('''
    """Chips on a wheel through all servers: each wired to the next, the last to the first."""

    from collections.abc import Iterator
    from math import cos, pi, sin

    from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode, Sides, assemble, chip_nodes
    from trninv.topology.pattern import IsSymmetry, NodesByNumber, Pattern, Permutation, Point2D
    from trninv.topology.torus import ring_links


    def _build(servers: int, chips_per_server: int) -> Blueprint:
        nodes = chip_nodes(chips_per_server, (servers,))
        wires = [
            BlueprintLink(a, b, "inside" if nodes[a].server == nodes[b].server else "outside")
            for a, b in ring_links(len(nodes))
        ]
        return assemble(
            "wheel", nodes, wires, servers_by_rack=(servers,), chips_per_nic=1, sides=(servers, chips_per_server)
        )


    def _spoke(chip: BlueprintNode, sides: Sides) -> int:
        return (chip.server or 0) * sides[1] + chip.ordinal


    def _plane_positions(places: NodesByNumber, sides: Sides) -> dict[int, Point2D]:
        turn = {key: 2 * pi * _spoke(chip, sides) / (sides[0] * sides[1]) for key, chip in places.items()}
        return {key: Point2D(100 * sin(angle), -100 * cos(angle)) for key, angle in turn.items()}


    def _symmetries(places: NodesByNumber, sides: Sides, _is_symmetry: IsSymmetry) -> Iterator[Permutation]:
        size = sides[0] * sides[1]
        at = {_spoke(chip, sides): key for key, chip in places.items()}
        for step in range(size):
            for way in (1, -1):
                yield {key: at[to] for spoke, key in at.items() if (to := (way * spoke + step) % size) in at}


    def _violations(blueprint: Blueprint) -> Iterator[str]:
        if [(wire.a, wire.b) for wire in blueprint.scale_up_links] != ring_links(blueprint.chips):
            yield "its wires are not a ring through its chips"


    PATTERN = Pattern(
        name="wheel",
        description="chips on a wheel",
        build=_build,
        plane_positions=_plane_positions,
        violations=_violations,
        symmetries=_symmetries,
    )
''').lstrip()

GENERATION = dedent("""
    [[chip]]
    slug = "wheelium"
    name = "Wheelium"
    generation = "wh1"
    core_model = "WheelCore"

    [[server]]
    slug = "wh1-server"
    chip = "wheelium"
    trays = [[0, 1, 2]]

    [[link]]
    slug = "spoke"
    technology = "Spoke"
    scope = "server"

    [[link]]
    slug = "axle"
    technology = "Axle"
    scope = "rack"

    [[link]]
    slug = "efa"
    technology = "EFA"
    scope = "host"

    [[domain]]
    slug = "wh1-domain"
    name = "Wheel of six"
    server = "wh1-server"
    wiring = { pattern = "wheel", servers = 2, chips_per_server = 3 }
    links = { inside = "spoke", outside = "axle", nic = "efa" }

    [[system]]
    slug = "wheel"
    name = "One wheel of six chips"
    domain = "wh1-domain"
    aliases = ["wh1"]

    [[facts]]
    source = "assumed"
    rows = [
      { subject = "wheelium", attribute = "cores", value = "2", quote = "made up" },
      { subject = "wheelium", attribute = "device_memory", value = "10", unit = "GiB", quote = "made up" },
      { subject = "wheelium", attribute = "device_memory_bandwidth", value = "1", unit = "TB/s", quote = "made up" },
      { subject = "wh1-server", attribute = "vcpus", value = "8", quote = "made up" },
      { subject = "wh1-server", attribute = "host_memory", value = "64", unit = "GiB", quote = "made up" },
      { subject = "spoke", attribute = "bandwidth", value = "70", unit = "GB/s", quote = "made up", direction = "one" },
      { subject = "axle", attribute = "bandwidth", value = "30", unit = "GB/s", quote = "made up", direction = "one" },
      { subject = "efa", attribute = "bandwidth", value = "80", unit = "Gbps", quote = "made up", direction = "one" },
    ]
""").lstrip()

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the program, as a user's checkout."""
    for name in ("trninv", "seed", "migrations"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("web"))
    shutil.copy(ROOT / "alembic.ini", tmp_path)
    return tmp_path


_MANY = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from trninv.cli.main import main

for line in sys.stdin:
    out, error, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(error):
        try:
            main(json.loads(line))
        except SystemExit as ended:
            status = ended.code
    print(json.dumps([status, out.getvalue(), error.getvalue()]), flush=True)
"""


@pytest.fixture
def cli(checkout: Path) -> Iterator[Cli]:
    """Runs the copy's command line, in one process that begins with the first command; gives status, output, errors."""
    environment = os.environ | {
        "PYTHONPATH": str(checkout),
        "TRNINV_DATABASE_URL": f"sqlite:///{checkout / 'fleet.db'}",
    }

    @cache
    def process() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", _MANY]
        return subprocess.Popen(
            command, cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(*arguments: str) -> tuple[int, str, str]:
        told, answers = process().stdin, process().stdout
        assert told
        assert answers
        told.write(json.dumps(arguments) + "\n")
        told.flush()
        status, out, error = json.loads(answers.readline())
        return status, out, error

    yield run
    process().communicate()


def _told(cli: Cli, *arguments: str) -> str:
    status, out, error = cli(*arguments)
    assert (status, error) == (0, ""), (arguments, error)
    return out


@pytest.mark.slow
def test_two_files_are_a_new_generation(checkout: Path, cli: Cli) -> None:
    (checkout / "trninv" / "topology" / "patterns" / "wheel.py").write_text(PATTERN)
    (checkout / "seed" / "catalog" / "wh1.toml").write_text(GENERATION)

    systems = {row["slug"]: row for row in json.loads(_told(cli, "systems", "--format", "json"))}
    assert (systems["wheel"]["chips"], systems["wheel"]["servers"], systems["wheel"]["aliases"]) == (6, 2, ["wh1"])
    cli("migrate")
    assert ": seeded" in cli("seed", "wh1")[1]
    assert "matches the catalog" in _told(cli, "verify")
    assert "wheel 2×3" in _told(cli, "show", "wheel/d0")

    path = json.loads(_told(cli, "path", "wheel/d0/s0/c0", "wheel/d0/s1/c1", "--format", "json"))
    assert (path["tiedPaths"], path["paths"][0]["hops"]) == (1, 2)  # 0, 5, 4 and not 0, 1, 2, 3, 4

    # by hand: every split of a ring cuts two links or more, and between the servers these are the two of 30 GB/s
    halves = json.loads(_told(cli, "bisection", "wheel", "--format", "json"))
    assert halves["exact"]
    assert halves["lower"]["bytesPerSecond"] == halves["upper"]["bytesPerSecond"] == str(2 * 30 * 10**9)
    assert (halves["sideA"], halves["sideB"], halves["cut"]["totalCount"]) == (3, 3, 2)

    # four spokes are alike, and two axles: by the turn of half the wheel and its mirror
    sweep = json.loads(_told(cli, "sweep", "wheel", "--fail", "link", "--format", "json"))
    assert sorted(row["count"] for row in sweep["classes"]) == [2, 4]

    asked = (
        '{ layout(place: "wheel/d0") { wiring isRotatable wrapLinks places { address x y } } domains { '
        "nodes { wiring } } }"
    )
    data = json.loads(_told(cli, "query", asked))["data"]
    assert data["domains"]["nodes"] == [{"wiring": "WHEEL"}]
    layout = data["layout"]
    assert (layout["wiring"], layout["isRotatable"], layout["wrapLinks"]) == ("wheel", False, [])
    places = {each["address"]: (round(each["x"]), round(each["y"])) for each in layout["places"]}
    assert (places["wheel/d0/s0/c0"], places["wheel/d0/s1/c0"]) == ((0, -100), (0, 100))

    drawn = _told(cli, "draw", "wheel", "-o", "-", "--bisection")
    assert drawn.count("<circle") == 6
    assert 'cx="0" cy="-100"' in drawn
    assert "bisection 60 GB/s one direction: 2 links cut" in drawn


@pytest.mark.parametrize(
    ("pattern", "generation", "says"),
    [
        (None, GENERATION, "wh1.toml: domain 'wh1-domain': no wiring pattern 'wheel'; use one of chain, "),
        (
            PATTERN,
            GENERATION.replace("servers = 2", "spokes = 2"),
            "wiring 'wheel': 'spokes' is unknown: the parameters are",
        ),
        *(
            pytest.param(pattern, GENERATION, says, marks=pytest.mark.slow)
            for pattern, says in (
                (PATTERN.replace("PATTERN =", "PATTERNS ="), "topology/patterns/wheel.py: PATTERN is not a Pattern"),
                (PATTERN.replace('name="wheel"', 'name="hub"'), "PATTERN is not a Pattern called 'wheel'"),
                (
                    PATTERN.replace("in ring_links(", "in (lambda n: ring_links(n)[1:])("),
                    "wires are not a ring through its",
                ),
            )
        ),
    ],
)
def test_a_generation_that_does_not_fit_is_refused_by_name(
    checkout: Path, cli: Cli, pattern: str | None, generation: str, says: str
) -> None:
    if pattern:
        (checkout / "trninv" / "topology" / "patterns" / "wheel.py").write_text(pattern)
    (checkout / "seed" / "catalog" / "wh1.toml").write_text(generation)
    status, out, error = cli("systems")
    assert (status, out) == (1, "")
    assert says in error
    assert error.count("\n") == 1
