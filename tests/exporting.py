"""Clusters of several domains, and what `trninv topology` writes of a scope."""

from collections.abc import Collection

from drifting import MINUTES, START, alive_fleet, found

from conftest import Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import unbind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.cordon import cordon

SCOPES = {"astra-sim": "/d0", "booksim": "/d1"}
SCOPES |= dict.fromkeys(["gexf", "graphml", "hwloc", "jgf", "node-link"], "/d1/s0")
"""What formats take of a cluster that can't say a whole one, or would say it at length."""


def scope_of(name: str, cluster: str = "lab") -> str:
    return cluster + SCOPES.get(name, "")


def seed_lab(url: str) -> None:
    seed(url, ["lab"])


def lab(databases: Databases, backend: str = "sqlite") -> str:
    """URL of a database with three UltraServers, for one test alone."""
    return databases.copied(backend, seed_lab)


def seed(url: str, only: Collection[str] = ()) -> None:
    """Clusters of several sizes and names, or only those of some names."""
    known = default_systems().by_name
    wanted = [("u-trn2x64", "lab", 3), ("u-trn2x64", "wide", 40), ("trn1.2xlarge", "small", 3)]
    wanted += [("u-trn2x64", "u-trn2x64", 1), ("trn3-gen2", "trn3-gen2", 1)]
    wanted += [("trn1.2xlarge", "my_lab", 2), ("trn1.2xlarge", "a" * 64, 40)]
    with temporary_engine(url) as engine:
        migration.create_tables_if_missing(engine)
        for system, name, domains in wanted:
            if only and name not in only:
                continue
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), known[system].resized(domains), name)


def worn_fleet(url: str) -> None:
    """A fleet that is bound and observed, with parts of UltraServers that are degraded, down, cordoned or unbound."""
    alive_fleet(url)
    server = "u-trn2x64/d1/s0"
    states = {
        "u-trn2x64/d2/s0": Condition.from_user("maintenance"),
        "u-trn2x64/d1/s2": Condition.from_user("down"),
        f"{server}/c3": Condition.from_user("degraded", 0.5),
        f"{server}/c5": Condition.from_user("down"),
        f"{server}/c0--{server}/c1": Condition.from_user("degraded", 0.123456),
        f"{server}/c8--{server}/c9": Condition.from_user("down"),
    }
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            for address, condition in states.items():
                set_state(connection, [address], condition, why="worn", who="tests")
            cordon(connection, ["u-trn2x64/d2/s1"], who="me", why='ticket #12: "fan" \\ 🔥')
            unbind(connection, "u-trn2x64/d2/s3", who="tests")
        found(engine, START + 10 * MINUTES)


def exported(run: Run, database: str, scope: str, name: str, *options: str) -> str:
    """A scope in a format, read back."""
    status, out, error = run("topology", scope, "--as", name, "--check", *options, database=database)
    assert status == 0, error
    return out
