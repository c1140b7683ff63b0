"""The four documents against the database: SQL recomputes each documented total from the rows."""

import json
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import bindparam, text

from trninv.inventory.seeding.totals import cluster_totals
from trninv.routing.fleet import BaseFleet

GIB, GB, TF = 2**30, 10**9, 1000

# system: chips, servers, vCPUs, host memory, device memory, its bandwidth, EFA bandwidth
TOTALS = {
    "trn1.2xlarge": (1, 1, 8, 32 * GIB, 32 * GIB, 820 * GB, 3_125_000_000),
    "trn1.32xlarge": (16, 1, 128, 512 * GIB, 512 * GIB, 13_120 * GB, 100 * GB),
    "trn2-16.48xlarge": (16, 1, 192, 2_048 * GIB, 1_536 * GIB, 46_400 * GB, 400 * GB),
    "u-trn2x64": (64, 4, 768, 8_192 * GIB, 6_144 * GIB, 185_600 * GB, 1_600 * GB),  # printed 400: one server's
    "trn3-gen1": (64, 4, 768, 8_192 * GIB, 9_216 * GIB, 313_600 * GB, 1_600 * GB),
    "trn3-gen2": (144, 36, 2_304, 27_648 * GIB, 20_736 * GIB, 705_600 * GB, 3_600 * GB),
}
# system: MXFP8, FP8, BF16, FP32, sparse in 10⁹ operations per second (Trn3's sparse is the chip page's 2,517 a chip)
COMPUTE = {
    "trn1.2xlarge": (None, 210 * TF, 210 * TF, 52_500, None),
    "trn1.32xlarge": (None, 3_360 * TF, 3_360 * TF, 840 * TF, None),
    "trn2-16.48xlarge": (None, 20_000 * TF, 10_000 * TF, 2_900 * TF, 40_000 * TF),
    "u-trn2x64": (None, 80_000 * TF, 40_000 * TF, 11_600 * TF, 160_000 * TF),
    "trn3-gen1": (161_088 * TF, None, 42_944 * TF, 11_712 * TF, 161_088 * TF),
    "trn3-gen2": (362_448 * TF, None, 96_624 * TF, 26_352 * TF, 362_448 * TF),
}
_OF_CHIPS = """
    SELECT {columns} FROM cluster c JOIN node n ON n.cluster_id = c.id JOIN chip ON chip.id = n.id
    JOIN chip_model m ON m.id = chip.chip_model_id WHERE c.slug = :slug
"""


def _row(fleet: BaseFleet, query: str, **values: object) -> tuple[object, ...]:
    with fleet.engine.connect() as connection:
        return tuple(None if value is None else int(value) for value in connection.execute(text(query), values).one())


@pytest.mark.parametrize("slug", TOTALS)
def test_totals(fleet: BaseFleet, slug: str) -> None:
    columns = "count(*), sum(m.device_memory_bytes), sum(m.device_memory_bandwidth_bytes_per_s)"
    chips, memory, bandwidth = _row(fleet, _OF_CHIPS.format(columns=columns), slug=slug)
    servers, vcpus, host = _row(
        fleet,
        "SELECT count(*), sum(m.vcpus), sum(m.host_memory_bytes) FROM cluster c JOIN domain d ON d.cluster_id = c.id "
        "JOIN server s ON s.domain_id = d.id JOIN server_model m ON m.id = s.server_model_id WHERE c.slug = :slug",
        slug=slug,
    )
    (efa,) = _row(
        fleet,
        "SELECT sum(nic.bandwidth_bytes_per_s) FROM cluster c JOIN node n ON n.cluster_id = c.id "
        "JOIN nic ON nic.id = n.id WHERE c.slug = :slug",
        slug=slug,
    )
    assert (chips, servers, vcpus, host, memory, bandwidth, efa) == TOTALS[slug]


def test_what_show_adds_up_is_the_sum_over_the_rows(fleet: BaseFleet) -> None:
    sums = "count(*), sum(m.cores), sum(m.device_memory_bytes), sum(m.bf16_gflops), sum(m.fp8_gflops)"
    nics = "SELECT sum(nic.bandwidth_bytes_per_s) FROM nic JOIN node n ON n.id = nic.id WHERE n.cluster_id = :id"
    with fleet.engine.connect() as connection:
        for slug, key in connection.execute(text("SELECT slug, id FROM cluster")).all():
            found = cluster_totals(connection, key)
            names = ("chips", "cores", "device_memory", "bf16_compute", "fp8_compute")
            assert tuple(map(found.get, names)) == _row(fleet, _OF_CHIPS.format(columns=sums), slug=slug)
            assert (found["efa_bandwidth"],) == _row(fleet, nics, id=key)


@pytest.mark.parametrize("slug", COMPUTE)
def test_compute(fleet: BaseFleet, slug: str) -> None:
    kinds = ("mxfp8", "fp8", "bf16", "fp32", "sparse")
    columns = ", ".join(f"sum(m.{kind}_gflops)" for kind in kinds)
    assert _row(fleet, _OF_CHIPS.format(columns=columns), slug=slug) == COMPUTE[slug]


@pytest.mark.parametrize(
    ("slug", "rows"),
    [
        ("trn1.2xlarge", {}),
        ("trn1.32xlarge", {("server", 48): 32}),
        ("trn2-16.48xlarge", {("server", 128): 32}),
        ("u-trn2x64", {("server", 128): 128, ("domain", 64): 64}),
        ("trn3-gen1", {("server", 256): 64, ("rack", 320): 64, ("domain", 128): 32}),
        ("trn3-gen2", {("server", 256): 144, ("rack", 320): 144, ("domain", 128): 72}),
    ],
)
def test_links_by_scope_and_bandwidth(fleet: BaseFleet, slug: str, rows: dict[tuple[str, int], int]) -> None:
    query = (
        "SELECT l.scope, l.bandwidth_bytes_per_s FROM link l JOIN domain d ON d.id = l.domain_id "
        "JOIN cluster c ON c.id = d.cluster_id WHERE c.slug = :slug AND l.scope <> 'host'"
    )
    with fleet.engine.connect() as connection:
        found = Counter((scope, rate // GB) for scope, rate in connection.execute(text(query), {"slug": slug}))
    assert found == rows


@pytest.mark.parametrize("slug", ["trn2-16.48xlarge", "trn1.32xlarge"])
def test_neighbours_are_those_that_neuron_ls_prints(fleet: BaseFleet, slug: str) -> None:
    """tests/golden/neuron_ls_4x4.json: sixteen devices in the shape of neuron-ls -j."""
    devices = json.loads((Path(__file__).parents[1] / "golden" / "neuron_ls_4x4.json").read_text())
    graph = fleet.graph(slug)
    for device in devices:
        near = graph[f"{slug}/d0/s0/c{device['neuron_device']}"]
        chips = {int(address.rsplit("/c", 1)[1]) for address in near if graph.nodes[address]["kind"] == "chip"}
        assert chips == set(device["connected_to"])
        if slug.startswith("trn2"):
            assert graph.nodes[f"{slug}/d0/s0/c{device['neuron_device']}"]["memory"] == device["memory_size"]


def test_trays_pair_the_chips_that_the_driver_pairs(fleet: BaseFleet) -> None:
    query = (
        "SELECT t.ordinal, t.kind, t.rack_units, ch.ordinal FROM cluster c JOIN domain d ON d.cluster_id = c.id "
        "JOIN server s ON s.domain_id = d.id JOIN tray t ON t.server_id = s.id LEFT JOIN chip ch ON ch.tray_id = t.id "
        "WHERE c.slug = 'u-trn2x64' AND s.ordinal = 3 ORDER BY t.ordinal, ch.ordinal"
    )
    with fleet.engine.connect() as connection:
        rows = connection.execute(text(query)).all()
    assert tuple(rows[0]) == (0, "head", 2, None)
    pairs = {tray: [chip for at, _, _, chip in rows if at == tray] for tray in range(1, 9)}
    assert list(pairs.values()) == [[0, 3], [4, 7], [12, 15], [8, 11], [1, 2], [5, 6], [13, 14], [9, 10]]
    assert sum({at: units for at, _, units, _ in rows}.values()) == 18


@pytest.mark.parametrize(
    ("slug", "racks"),
    [
        ("trn2-16.48xlarge", [[0]]),
        ("u-trn2x64", [[0, 1], [2, 3]]),
        ("trn3-gen1", [[0, 1], [2, 3]]),
        ("trn3-gen2", [list(range(18)), list(range(18, 36))]),
    ],
)
def test_racks_hold_their_servers(fleet: BaseFleet, slug: str, racks: list[list[int]]) -> None:
    query = text(
        "SELECT r.ordinal, s.ordinal FROM cluster c JOIN rack r ON r.cluster_id = c.id "
        "JOIN server s ON s.rack_id = r.id WHERE c.slug = :slug ORDER BY r.ordinal, s.ordinal"
    ).bindparams(bindparam("slug", slug))
    with fleet.engine.connect() as connection:
        rows = connection.execute(query).all()
    assert [[server for at, server in rows if at == rack] for rack in range(len(racks))] == racks
