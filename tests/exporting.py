"""A cluster of three UltraServers, and what `trninv topology` writes of a scope."""

from conftest import Databases, Run


def lab(run: Run, databases: Databases, backend: str = "sqlite") -> str:
    """URL of a database with the cluster."""
    url = databases.migrated(backend)
    assert run("seed", "u-trn2x64", "--name", "lab", "--domains", "3", database=url)[0] == 0
    return url


def exported(run: Run, database: str, scope: str, name: str, *options: str) -> str:
    """A scope in a format, read back by trninv's own reader."""
    status, out, error = run("topology", scope, "--as", name, "--check", *options, database=database)
    assert status == 0, error
    return out
