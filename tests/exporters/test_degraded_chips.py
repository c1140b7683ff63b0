"""A degraded chip works: every format has it, as it has a chip that is up."""

import re

import pytest

import exporting
from conftest import Databases, Run
from exporting import exported
from trninv.database.engine import temporary_engine, write_transaction
from trninv.exporters.format import Record, find_format, format_names
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

_PLACES = [
    "aws",
    "booksim",
    "kubernetes",
    "kueue",
    "slurm-block",
    "slurm-nodes",
    "slurm-tree",
    "slurm-yaml",
    "topograph",
]
"""Formats that say no states of chips, nor what links carry."""
_GRAPHS = ["gexf", "graphml", "jgf", "node-link"]
_CHIPS = ("lab/d0/s0/c3", "lab/d1/s0/c3")


@pytest.fixture(scope="module")
def labs(databases: Databases) -> tuple[str, str]:
    """URLs of a cluster that is up, and of one with a degraded chip in each of two domains."""
    whole, worn = exporting.lab(databases), exporting.lab(databases)
    with temporary_engine(worn) as engine, write_transaction(engine) as connection:
        set_state(connection, _CHIPS, Condition.from_user("degraded", 0.5), why="ecc", who="tests")
    return whole, worn


def _both(run: Run, labs: tuple[str, str], name: str) -> list[list[str]]:
    lines = (exported(run, url, exporting.SCOPES.get(name, "lab"), name) for url in labs)
    return [re.sub("event [0-9]+", "", each).splitlines() for each in lines]


def _records(run: Run, labs: tuple[str, str], name: str) -> list[list[Record]]:
    return [[tuple(record) for record in find_format(name).read(lines)] for lines in _both(run, labs, name)]


def test_each_format_is_looked_at() -> None:
    assert {*_PLACES, *_GRAPHS, "hwloc", "openmetrics", "astra-sim"} == set(format_names())


@pytest.mark.parametrize("name", _PLACES)
def test_places_and_counts_are_those_of_a_cluster_that_is_up(run: Run, labs: tuple[str, str], name: str) -> None:
    whole, worn = _both(run, labs, name)
    assert worn == whole


@pytest.mark.parametrize("name", _GRAPHS)
def test_graphs_have_every_chip_and_link(run: Run, labs: tuple[str, str], name: str) -> None:
    whole, worn = _records(run, labs, name)
    assert len(worn) == len(whole)
    (chip,) = (record for record in worn if record[0] == _CHIPS[1] and record[1] == "chip")
    assert chip[-1] == "degraded"


def test_hwloc_has_sixteen_devices(run: Run, labs: tuple[str, str]) -> None:
    whole, worn = ({record[0]: record[1:] for record in each} for each in _records(run, labs, "hwloc"))
    assert worn["devices"] == whole["devices"]
    assert str(worn["devices"]).count("neuron") == 16


def test_openmetrics_counts_it_apart(run: Run, labs: tuple[str, str]) -> None:
    _, worn = _records(run, labs, "openmetrics")
    chips = {record[3]: record[-1] for record in worn if record[0] == "trninv_nodes" and record[2] == "chip"}
    assert chips == {"up": 190, "degraded": 2, "down": 0, "maintenance": 0}


def test_a_simulator_of_links_alike_is_refused(run: Run, labs: tuple[str, str]) -> None:
    status, out, error = run("topology", "lab/d0", "--as", "astra-sim", database=labs[1])
    assert (status, out) == (2, "")
    assert "differ in bandwidth" in error


def test_a_degraded_server_takes_jobs(run: Run, databases: Databases) -> None:
    url = exporting.lab(databases)
    before = [exported(run, url, "lab", name).splitlines()[1:] for name in ("slurm-nodes", "slurm-block")]
    run("set", "lab/d0/s1", "degraded", "--factor", "0.5", "--why", "heat", database=url)
    assert [exported(run, url, "lab", name).splitlines()[1:] for name in ("slurm-nodes", "slurm-block")] == before
    assert "unschedulable" not in exported(run, url, "lab", "kubernetes")
