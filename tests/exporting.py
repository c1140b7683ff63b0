"""Clusters of several domains, and what `trninv topology` writes of a scope."""

from conftest import Databases, Run
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.inventory import stamp
from trninv.inventory.database import connect, writing

SCOPES = {"hwloc": "lab/d0/s0", "astra-sim": "lab/d0", "booksim": "lab/d0"}
SCOPES |= dict.fromkeys(["gexf", "graphml", "jgf", "node-link"], "lab/d1")
"""What formats take that can't say a whole cluster, or would take long to."""


def lab(run: Run, databases: Databases, backend: str = "sqlite") -> str:
    """URL of a database with three UltraServers."""
    url = databases.migrated(backend)
    assert run("seed", "u-trn2x64", "--name", "lab", "--domains", "3", database=url)[0] == 0
    return url


def seed(url: str) -> None:
    """Clusters of several sizes and names."""
    known = systems().names
    wanted = [("u-trn2x64", "lab", 3), ("u-trn2x64", "wide", 40), ("trn1.2xlarge", "small", 3)]
    wanted += [("u-trn2x64", "u-trn2x64", 1), ("trn3-gen2", "trn3-gen2", 1)]
    wanted += [("trn1.2xlarge", "my_lab", 2), ("trn1.2xlarge", "a" * 64, 40)]
    with connect(url) as engine:
        for system, name, domains in wanted:
            with writing(engine) as connection:
                stamp.seed(connection, catalog(), known[system].resized(domains), name)


def exported(run: Run, database: str, scope: str, name: str, *options: str) -> str:
    """A scope in a format, read back by trninv's own reader."""
    status, out, error = run("topology", scope, "--as", name, "--check", *options, database=database)
    assert status == 0, error
    return out
