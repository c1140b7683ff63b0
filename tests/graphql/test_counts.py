"""Counts and sums of lists come from the counts beside the parts, and are those of the parts; others are scanned."""

from collections.abc import Mapping
from typing import Any

import pytest
from plans import run_compiled

from conftest import both_ways, is_quick
from trninv.graphql.compiler import connection_json
from trninv.graphql.compiler.counted_rows import NotCountedError
from trninv.inventory.schema.things import THINGS
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

STATES = (
    *("{eq: UP}", "{eq: DOWN}", "{ne: UP}", "{ne: DOWN}", "{in: [UP, DEGRADED]}", "{in: [DOWN, MAINTENANCE]}"),
    "{in: []}",
)
CONDITIONS = {
    "chips": (
        *(f"state: {test}" for test in STATES),
        "generation: {eq: TRN2}",
        "memory: {gt: {gibibytes: 50}}",
        "or: [{not: {state: {eq: UP}}}, {generation: {eq: TRN3}}]",
    ),
    "servers": ('model: {eq: "trn2-16.48xlarge"}', "vcpus: {gt: 100}", "state: {eq: DOWN}"),
    "links": ("scope: {eq: FABRIC}", "scope: {in: [SERVER, HOST]}, state: {ne: UP}", "state: {eq: DOWN}"),
    "nics": ("state: {ne: UP}",),
    "switches": ("state: {eq: UP}",),
    "networkNodes": ("state: {eq: UP}",),
    "cores": (),
    "domains": ("wiring: {eq: TORUS}",),
    "racks": (),
}
CLUSTERS = (
    'cluster: {eq: "u-trn2x64"}',
    'cluster: {in: ["trn3-gen2", "trn3-gen1"]}, not: {cluster: {eq: "trn3-gen1"}}',
)
SCANNED = (
    ("chips", "ordinal: {eq: 3}"),
    ("chips", 'server: {eq: "u-trn2x64/d0/s1"}'),
    ("chips", "use: {eq: FREE}"),
    ("links", "cables: {eq: 1}"),
    ("links", "nominal: {gt: {gigabytesPerSecond: 100}}"),
    ("servers", 'address: {startsWith: "u-trn2x64/d0/s"}'),
)
SUMS = {
    "chips": "memory { bytes } bandwidth { bytesPerSecond } teraflops fp32: teraflops(type: FP32)",
    "servers": "memory { bytes }",
    "links": "bandwidth { bytesPerSecond }",
    "nics": "bandwidth { bytesPerSecond }",
}
KINDS = {f"{name}s" if name != "switch" else "switches": thing for name, thing in THINGS.items()}
KINDS["networkNodes"] = KINDS["network_nodes"]


def _document(things: str, condition: str) -> str:
    groups = list(KINDS[things].groups)
    names = [[], *([name] for name in groups), groups]
    lists = " ".join(
        f"g{index}: aggregates(by: [{', '.join(map(str.upper, by))}]) {{ {' '.join(by)} count {SUMS.get(things, '')} }}"
        for index, by in enumerate(names)
    )
    return f"{{ {things}(filter: {{{condition}}}) {{ totalCount {lists} }} }}"


def _scanned(fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, document: str) -> Mapping[str, Any]:
    """Return the answer that does without counts."""

    def refuse(*_: Any) -> None:
        raise NotCountedError

    with monkeypatch.context() as patched:
        patched.setattr(connection_json, "CountedRows", refuse)
        data, sql, _ = run_compiled(fleet, patched, document)
    assert "part_count" not in sql
    return data


@pytest.mark.drawing
@pytest.mark.parametrize("things", CONDITIONS)
def test_counts_are_those_of_a_scan(worn: BaseFleet, monkeypatch: pytest.MonkeyPatch, things: str) -> None:
    conditions = ["", *CLUSTERS, *CONDITIONS[things], *(f"{one}, {CLUSTERS[0]}" for one in CONDITIONS[things])]
    for condition in conditions[:: 3 if is_quick() else 1]:
        document = _document(things, condition)
        with monkeypatch.context() as patched:
            data, sql, _ = run_compiled(worn, patched, document)
        assert data == _scanned(worn, monkeypatch, document), condition
        assert f"FROM {KINDS[things].name} AS" not in sql, condition


@pytest.mark.parametrize(("things", "condition"), SCANNED)
def test_other_conditions_are_scanned(
    worn: BaseFleet, monkeypatch: pytest.MonkeyPatch, things: str, condition: str
) -> None:
    document = _document(things, condition)
    _, sql, _ = run_compiled(worn, monkeypatch, document)
    assert "part_count" not in sql


@pytest.mark.parametrize("name", ["chips", "racks", "domains"])
def test_a_clusters_own_lists_are_counted(worn: BaseFleet, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    document = f'{{ cluster(slug: "u-trn2x64") {{ {name} {{ totalCount aggregates {{ count }} }} }} }}'
    data, sql, _ = run_compiled(worn, monkeypatch, document)
    assert f"FROM {KINDS[name].name} AS" not in sql
    assert data == _scanned(worn, monkeypatch, document)


def test_the_past_is_counted_as_it_was(worn: BaseFleet) -> None:
    lists = "chips(filter: {state: {ne: UP}}) { totalCount } servers { aggregates(by: [STATE]) { state } }"
    answer = both_ways(worn)(f'{{ {lists} asOf(time: "0") {{ {lists} }} }}')
    assert answer["errors"] == []
    past = answer["data"].pop("asOf")
    assert past == {"chips": {"totalCount": 0}, "servers": {"aggregates": [{"state": "UP"}]}}
    assert answer["data"]["chips"]["totalCount"] == 18
    assert [group["state"] for group in answer["data"]["servers"]["aggregates"]] == ["MAINTENANCE", "UP"]
