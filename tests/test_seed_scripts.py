"""Each seed script runs on its own, and alembic can migrate alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_plain_alembic_and_the_seed_scripts(tmp_path: Path) -> None:
    environment = os.environ | {"TRNINV_DATABASE_URL": f"sqlite:///{tmp_path / 'fleet.db'}"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-m", "alembic", "upgrade", "head")
    for script, systems in (("trn1", 2), ("trn2", 2), ("trn3", 2)):
        assert run(sys.executable, "-m", f"seed.{script}").count(": seeded") == systems
    assert "as the catalog says" in run(sys.executable, "-m", "trninv", "verify")
    run(sys.executable, "-m", "alembic", "downgrade", "base")


@pytest.mark.parametrize("file", ["run", ".ci/run"])
def test_shell_scripts_parse(file: str) -> None:
    subprocess.run(["bash" if file == ".ci/run" else "sh", "-n", ROOT / file], check=True)


def test_lock_files_hold_no_registry_addresses() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "web/package-lock.json"):
        text = (ROOT / name).read_text()
        assert "index-url" not in text
        assert '"resolved"' not in text
        assert "--hash=sha256" in text or "sha512-" in text
