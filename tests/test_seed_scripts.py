"""Each seed script runs on its own, and alembic can migrate alone."""

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from trninv.catalog.models import default_systems

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])
def test_a_seed_script_runs_by_itself(name: str) -> None:
    command = [sys.executable, "-m", f"seed.{name}", "--dry-run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.count(b"would seed") == 2


Script = Callable[..., tuple[int, str, str]]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Script:
    """Run a seed script as `python -m` does, in this process; returns status, stdout, stderr."""

    def call(name: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"seed.{name}", run_name="__main__")
        return int(str(ended.value.code)), *capfd.readouterr()

    return call


@pytest.mark.slow
def test_plain_alembic_and_the_seed_scripts(
    script: Script, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'fleet.db'}"
    monkeypatch.setenv("TRNINV_DATABASE_URL", url)

    def alembic(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "alembic", *words], cwd=ROOT, capture_output=True, check=True)

    alembic("upgrade", "head")
    for name in ("trn1", "trn2", "trn3"):
        assert script(name)[1].count(": seeded") == 2
    assert "matches the catalog" in run("verify", database=url)[1]
    alembic("downgrade", "base")


@pytest.mark.parametrize(
    ("arguments", "seeded"),
    [
        ([], ["trn2-16.48xlarge: 16 chips in 1 server", "u-trn2x64: 64 chips in 4 servers"]),
        (["--domains", "2"], ["trn2-16.48xlarge: 32 chips in 2 servers", "u-trn2x64: 128 chips in 8 servers"]),
        (["trn2u", "--name", "lab"], ["lab: 64 chips in 4 servers"]),
        (["trn1"], ["trn1.32xlarge: 16 chips in 1 server"]),
    ],
)
def test_a_seed_script_takes_the_options_of_trninv_seed(
    script: Script, arguments: list[str], seeded: list[str]
) -> None:
    status, out, err = script("trn2", "--dry-run", *arguments)
    assert (status, err) == (0, "")
    assert out.splitlines() == [f"would seed {each}" for each in seeded]


def test_a_seed_script_seeds_every_system_when_told_so(script: Script) -> None:
    assert script("trn2", "--all", "--dry-run")[1].count("would seed") == len(default_systems().systems)


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_a_seed_script_helps_instead_of_seeding(script: Script, word: str) -> None:
    status, out, err = script("trn3", word)
    assert (status, err) == (0, "")
    assert "trn3-gen1, trn3-gen2" in out.splitlines()[0]
    assert "--domains N" in out
    assert ": seeded" not in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--nope"], "there is no option --nope"),
        (["--name", "lab"], "--name needs exactly one system"),
        (["--all", "trn1"], "omit SYSTEM"),
    ],
)
def test_a_seed_script_refuses_what_trninv_seed_refuses(script: Script, arguments: list[str], complaint: str) -> None:
    status, _, err = script("trn2", *arguments, "--dry-run")
    assert status == 2
    assert complaint in err


@pytest.mark.parametrize("file", ["run", ".ci/run", ".ci/interpreters"])
def test_shell_scripts_parse(file: str) -> None:
    subprocess.run(["sh" if file == "run" else "bash", "-n", ROOT / file], check=True)


def test_lock_files_hold_no_registry_addresses() -> None:
    requirements = ROOT.glob("requirements*.txt")
    for name in (*(file.name for file in requirements), "web/package-lock.json"):
        text = (ROOT / name).read_text()
        assert "index-url" not in text
        assert '"resolved"' not in text
        assert "--hash=sha256" in text or "sha512-" in text


@pytest.mark.slow
def test_the_last_line_of_a_run_says_that_chromium_is_missing() -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "tests/explorer", "-k", "what_happens_when"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    *_, total, last = done.stdout.splitlines()
    assert "1 skipped" in total
    assert last == "skipped without chromium: 1 browser test (apt-get install chromium)"
