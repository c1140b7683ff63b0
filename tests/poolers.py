"""A real PgBouncer in transaction mode before a real PostgreSQL, run by an ordinary user in a temporary directory."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from postgres import ordinary_user

_SETTINGS = """
[databases]
* = host={server}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {directory}
pidfile = {directory}/pid
logfile = {directory}/log
auth_type = trust
auth_file = {directory}/users
admin_users = pooler
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 200
"""


@contextmanager
def pooler(directory: Path, url: str, *users: str, sessions: int = 4) -> Iterator[str]:
    """Run a pooler below a directory before the server of a URL; yields a URL through it, with {} for the database.

    Parameters
    ----------
    users
        The users besides trninv who may log in.
    sessions
        How many sessions of the server all clients of a user and a database share.

    """
    user = ordinary_user()
    settings, server = directory / "settings.ini", url.partition("host=")[2]
    settings.write_text(_SETTINGS.format(server=server, directory=directory, sessions=sessions))
    (directory / "users").write_text("".join(f'"{name}" ""\n' for name in ("trninv", "pooler", *users)))
    if user:
        shutil.chown(directory, user)
    process = subprocess.Popen(["/usr/sbin/pgbouncer", "-q", str(settings)], user=user, stderr=subprocess.DEVNULL)
    try:
        _wait(f"postgresql://pooler@/pgbouncer?host={directory}&port=6432", process, directory / "log")
        yield f"postgresql://trninv@/{{}}?host={directory}&port=6432"
    finally:
        process.kill()
        process.wait(20)


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url, autocommit=True, prepare_threshold=None).close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"no pooler: {log.read_text() if log.exists() else 'no log'}") from None
            time.sleep(0.05)
        else:
            return
