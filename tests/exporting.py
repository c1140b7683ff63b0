"""Clusters of several domains, and what `trninv topology` writes of a scope."""

from collections.abc import Collection

from conftest import Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

SCOPES = {"hwloc": "lab/d0/s0", "astra-sim": "lab/d0", "booksim": "lab/d0"}
SCOPES |= dict.fromkeys(["gexf", "graphml", "jgf", "node-link"], "lab/d1")
"""What formats take that can't say a whole cluster, or would take long to."""


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


def wear(url: str) -> None:
    """Give a server, a chip and a link of each kind another state than up."""
    states = {
        "lab/d1/s2": Condition.from_user("maintenance"),
        "lab/d2/s0/c5": Condition.from_user("down"),
        "lab/d1/s0/c3": Condition.from_user("degraded", 0.5),
        "lab/d1/s0/c0--lab/d1/s1/c0": Condition.from_user("degraded", 0.123456),
        "lab/d1/s0/c1--lab/d1/s1/c1": Condition.from_user("down"),
    }
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for address, condition in states.items():
            set_state(connection, [address], condition, why="worn", who="tests")


def exported(run: Run, database: str, scope: str, name: str, *options: str) -> str:
    """A scope in a format, read back by trninv's own reader."""
    status, out, error = run("topology", scope, "--as", name, "--check", *options, database=database)
    assert status == 0, error
    return out
