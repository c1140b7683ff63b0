"""copy as an operator types it."""

from pathlib import Path

import pytest
from sqlalchemy import text

from conftest import Run
from trninv.database.engine import temporary_engine

pytestmark = pytest.mark.slow_on_postgresql


def test_a_copy_is_made_told_and_kept(run: Run, lite: str, empty: str) -> None:
    status, out, error = run("copy", lite, empty)
    assert (status, error) == (0, "")
    assert out.endswith("all rows are identical\n")
    assert run("verify", database=empty)[0] == 0
    again = run("copy", lite, empty)
    assert (again[0], "add --replace" in again[2]) == (2, True)
    assert run("copy", lite, empty, "--replace")[0] == 0
    assert (run("copy", empty, empty, "--replace")[0], run("verify", database=empty)[0]) == (2, 0)


def test_without_an_original_nothing_is_made(run: Run, tmp_path: Path) -> None:
    status, _, error = run("copy", f"sqlite:///{tmp_path}/typo.db", f"sqlite:///{tmp_path}/new.db")
    assert (status, list(tmp_path.iterdir())) == (1, [])
    assert "typo.db does not exist yet" in error


def test_a_target_of_another_revision_is_left_alone(run: Run, lite: str, tmp_path: Path) -> None:
    old = f"sqlite:///{tmp_path}/old.db"
    assert run("migrate", database=old)[0] == 0
    with temporary_engine(old) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0048'"))
    status, _, error = run("copy", lite, old)
    assert (status, "has schema version 0048" in error) == (1, True)
