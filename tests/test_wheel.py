"""The files of a release, built once a session; the wheel, installed without a network by pip, uv and pipx."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import distributions
from pathlib import Path

import loopback
import offline_job
import pytest
from documentation import built_site
from former import make_last_release

from conftest import Databases
from examples import ROOT
from release import artifacts
from release.changelog import Changelog
from trninv.database.engine import newest_schema_version
from trninv.reports.views import VIEWS
from trninv.reports.views.declared_views import DECLARED_VIEWS

pytestmark = pytest.mark.slow
MEGABYTES = 260
"""Size of an installation without compiled files; docs/decisions/installation-size.md says what takes it."""


def _shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A directory that the first worker makes."""
    base = factory.getbasetemp()
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            unfinished = directory.with_suffix(".unfinished")
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(directory)
    return directory


def _build(directory: Path) -> None:
    """Build from the commit, with this checkout's site if it is the commit's."""
    source = artifacts.copy_commit(directory / "source")
    shutil.copytree(built_site(), source / "site")
    artifacts.build_packages(source, directory / "dist")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Source and dist of the commit."""
    return _shared(tmp_path_factory, "release", _build)


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (file,) = (built / "dist").glob("*.whl")
    return file


def _download(directory: Path) -> None:
    """Download the locked requirements, and what installs them."""
    pip = [*artifacts.make_environment(directory / "tools"), "--quiet"]
    wheels = str(directory / "wheels")
    download = ["download", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--dest", wheels]
    files = str(ROOT / "requirements.txt"), str(ROOT / "tests/requirements-install.txt")
    for process in [subprocess.Popen([*pip, *download, "--requirement", file]) for file in files]:
        assert process.wait() == 0
    offline = ["--no-compile", "--no-index", "--find-links", wheels, "--requirement", files[1]]
    subprocess.run([*pip, "install", *offline], check=True)


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels and tools."""
    return _shared(tmp_path_factory, "downloads", _download)


def _isolation() -> list[str]:
    """Words before a command that runs it without a network, where this machine permits it."""
    for words in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if (
            shutil.which("unshare")
            and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
        ):
            return [*words, sys.executable, "-P", loopback.__file__]
    return []


class Installation:
    """An installed wheel with a home directory of its own.

    Attributes
    ----------
    program
        The command trninv.
    site
        The directory of its libraries.
    megabytes
        What each distribution takes.

    """

    def __init__(self, installer: str, home: Path, wheel: Path, downloads: Path) -> None:
        self._home, self._isolation = home, _isolation()
        self.program = home / (".local/bin/trninv" if installer != "pip" else "venv/bin/trninv")
        offline = ["--no-index", "--find-links", str(downloads / "wheels"), "--find-links", str(wheel.parent)]
        python = str(downloads / "tools/bin/python")
        match installer:
            case "pip":
                venv.create(home / "venv")
                words = [python, "-m", "pip", "--python", str(home / "venv"), "install", "--no-compile", *offline]
            case "uv":
                words = [python, "-m", "uv", "tool", "install", "--offline", "--python", sys.executable, *offline]
            case _:
                words = [python, "-m", "pipx", "install", "--backend", "pip", "--python", sys.executable]
                words.append(f"--pip-args=--no-compile {' '.join(offline)}")
        # pipx takes pip from there instead of installing it once more
        shared = {"PIPX_SHARED_LIBS": str(downloads / "tools"), "PIPX_DISABLE_SHARED_LIBS_AUTO_UPGRADE": "1"}
        self._run(*words, "trninv", **shared)
        own = str(self.program.resolve().with_name("python"))
        self.site = Path(self._run(own, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        self.megabytes = {
            part.name: sum((self.site / file).stat().st_size for file in part.files or ()) / 1e6
            for part in distributions(path=[str(self.site)])
        }

    def __call__(self, *line: str) -> str:
        """Run trninv, and return what it prints."""
        return self._run(str(self.program), *line, PYTHONWARNINGS="error")

    def do_job(self, database: str, former: str) -> dict[str, object]:
        """Run the main job."""
        words = [sys.executable, "-P", offline_job.__file__, str(self.program), database, former]
        done: dict[str, object] = json.loads(self._run(*words, PYTHONWARNINGS="error"))
        return done

    def _run(self, *command: str, **variables: str) -> str:
        """Run a program without a network and with few variables, and return what it prints."""
        environment = {"HOME": str(self._home), "PATH": "/usr/bin:/bin", **variables}
        words = [*self._isolation, *command]
        done = subprocess.run(words, cwd=self._home, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, wheel: Path, downloads: Path
) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp(request.param)
    yield Installation(request.param, home, wheel, downloads)
    shutil.rmtree(home)


def _assert_small(installed: Installation) -> None:
    """It has only locked libraries, and a known size."""
    pins = re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    names = {re.sub("[-_.]+", "-", name).lower() for name in installed.megabytes}
    assert "scipy" in names
    assert names <= {"trninv", *pins}
    assert sum(installed.megabytes.values()) == pytest.approx(MEGABYTES, abs=10), installed.megabytes
    assert f"| all | {MEGABYTES} |" in (ROOT / "docs/decisions/installation-size.md").read_text()


@pytest.mark.parametrize(("installed", "backend"), [("pip", "postgresql"), ("pipx", "sqlite")], indirect=["installed"])
def test_an_installed_wheel_does_the_main_job_and_upgrades(
    installed: Installation, backend: str, databases: Databases
) -> None:
    _assert_small(installed)
    done = installed.do_job(databases.empty(backend), databases.copied(backend, make_last_release))
    assert (done["hops"], done["healthz"]) == (6, 200)
    assert f"is at schema version {newest_schema_version()}" in str(done["migrate"])
    assert str(done["verify"]).startswith("matches the catalog")


@pytest.mark.parametrize("installed", ["uv"], indirect=True)
def test_an_installed_wheel_does_all_of_up_and_prints_its_pages(
    installed: Installation, built: Path, databases: Databases
) -> None:
    _assert_small(installed)
    assert installed("up", "--check").splitlines()[-1].endswith("all answered correctly")
    assert "/.local/share/trninv/" in installed("status").splitlines()[0]
    former = databases.copied("sqlite", make_last_release)
    assert f"is at schema version {newest_schema_version()}" in installed("--database", former, "migrate")
    assert installed("--database", former, "migrate", "--check") == "the schema is up to date\n"
    query = "SELECT chips FROM v_cluster WHERE address = 'u-trn2x64'"
    assert installed("sql", query, "--format", "csv") == "chips\n64\n"
    assert installed("docs", "how-to/deploy") == (built / "source/docs/how-to/deploy.md").read_text()
    assert "how-to/send-webhooks" in installed("docs", "webhook", "signature")
    assert (installed.program.resolve().parents[1] / "share/man/man1/trninv.1").exists()


def test_the_wheel_has_documentation_views_and_the_explorer(built: Path, wheel: Path) -> None:
    source = built / "source"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for pattern in ("docs/**/*.md", "*.md", "monitoring/*.*", "deploy/rolling-restart", "deploy/Containerfile"):
            for file in source.glob(pattern):
                assert archive.read(f"trninv/_bundle/{file.relative_to(source)}") == file.read_bytes()
        assert b"graphiql-container" in archive.read("trninv/web/assets/graphiql.css")
        assert b"assets/index.js" in archive.read("trninv/web/index.html")
    views = {Path(name).stem for name in names if re.match(r"trninv/reports/views/\w+\.sql", name)}
    assert views == set(VIEWS) - DECLARED_VIEWS.keys()
    for folder, prefix in (("html", "trninv/_bundle/site/html/"), ("man", ".data/data/share/man/man1/")):
        site = source / "site" / folder
        files = {str(file.relative_to(site)) for file in site.rglob("*") if file.is_file()}
        assert len(files) > 50
        assert files == {name.partition(prefix)[2] for name in names if prefix in name}


def test_the_files_of_a_release_are_listed(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "copy_commit", lambda directory: directory)
    monkeypatch.setattr(artifacts, "build_packages", lambda _, directory: shutil.copytree(built / "dist", directory))
    parsed = Changelog.read("## [1.0.0] - 2026-01-02\n\n- B.\n")
    monkeypatch.setattr(Changelog, "read", lambda: parsed)
    files = {file.name: file for file in artifacts.build_artifacts("1.0.0", tmp_path / "dist")}
    packages = {file.name for file in (built / "dist").iterdir()}
    assert {file.rpartition(".")[2] for file in packages} == {"gz", "whl"}
    assert set(files) == packages | {
        "NOTES.md",
        "SHA256SUMS",
        "trninv-1.0.0-container.tar.gz",
        "trninv-1.0.0.cdx.json",
        "requirements.txt",
        "requirements-service.txt",
    }
    for name in artifacts.REQUIREMENTS:
        assert files[name].read_bytes() == (ROOT / name).read_bytes()
    sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].read_text().splitlines())
    assert sums == {
        name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if name != "SHA256SUMS"
    }
    assert files["NOTES.md"].read_text() == "- B.\n"
    components = {part["name"] for part in json.loads(files["trninv-1.0.0.cdx.json"].read_text())["components"]}
    assert {"sqlalchemy", "networkx", "strawberry-graphql"} <= components
    with pytest.raises(artifacts.BuildError, match="is not empty"):
        artifacts.build_artifacts("1.0.0", tmp_path / "dist")
