"""The wheel on its own, in a fresh virtual environment and home directory, migrates, seeds and answers."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from documentation import built_site

from trninv.reports.views import VIEWS
from trninv.reports.views.declared_views import DECLARED_VIEWS

ROOT = Path(__file__).parents[1]


def _run(*command: str | Path, cwd: Path, home: Path) -> str:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_installed_wheel_migrates_seeds_and_answers(tmp_path: Path) -> None:
    build: list[str | Path] = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        tmp_path / "dist",
        ROOT,
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = Path(
        _run(
            python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path, home=tmp_path
        ).strip()
    )
    # the locked libraries as they are here; what a .pth adds does not read this checkout's own .pth
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    program = tmp_path / "venv" / "bin" / "trninv"
    where = _run(python, "-c", "import trninv; print(trninv.__file__)", cwd=tmp_path, home=tmp_path)
    assert where.startswith(str(site))
    out = _run(program, "up", "--check", cwd=tmp_path, home=tmp_path)
    assert "bisection: u-trn2x64: 2,048 GB/s one direction (exact)" in out
    assert str(tmp_path) in _run(program, "status", cwd=tmp_path, home=tmp_path).splitlines()[0]
    assert _run(program, "verify", cwd=tmp_path, home=tmp_path).startswith("matches the catalog")
    assert _run(program, "migrate", "--check", cwd=tmp_path, home=tmp_path) == "the schema is up to date\n"
    for name in (
        "monitoring/alerts.yml",
        "monitoring/dashboard.json",
        "deploy/rolling-restart",
        "deploy/Containerfile",
    ):
        assert (site / "trninv" / "_bundle" / name).read_bytes() == (ROOT / name).read_bytes()
    query = "SELECT chips FROM v_cluster WHERE address = 'u-trn2x64'"
    assert _run(program, "sql", query, "--format", "csv", cwd=tmp_path, home=tmp_path) == "chips\n64\n"
    assert {file.stem for file in (site / "trninv" / "reports" / "views").glob("*.sql")} == set(
        VIEWS
    ) - DECLARED_VIEWS.keys()
    _check_documentation(site, program, tmp_path)
    assert "graphiql-container" in (site / "trninv" / "web" / "assets" / "graphiql.css").read_text()
    assert "assets/index.js" in (site / "trninv" / "web" / "index.html").read_text()


def _check_documentation(site: Path, program: Path, home: Path) -> None:
    bundle = site / "trninv" / "_bundle"
    for page in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")):
        assert (bundle / page.relative_to(ROOT)).read_bytes() == page.read_bytes()
    assert _run(program, "docs", "how-to/deploy", cwd=home, home=home) == (ROOT / "docs/how-to/deploy.md").read_text()
    assert "how-to/send-webhooks" in _run(program, "docs", "webhook", "signature", cwd=home, home=home)
    built = built_site()
    for name, installed in (("html", bundle / "site" / "html"), ("man", home / "venv" / "share" / "man" / "man1")):
        files = {file.relative_to(built / name) for file in (built / name).rglob("*") if file.is_file()}
        assert files == {file.relative_to(installed) for file in installed.rglob("*") if file.is_file()}
