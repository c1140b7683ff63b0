"""Two processes of the service behind nginx, as deploy/nginx/trninv.conf sets it up, and deploy/rolling-restart."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from examples import ROOT

_NGINX = """
user root;
worker_processes 2;
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    include {directory}/trninv.conf;
}}
"""
STOP = """#!/bin/sh
port=${{1#trninv@}}
cd {directory}
if [ -f "$port.pid" ]; then
    kill "$(cat "$port.pid")"
    while kill -0 "$(cat "$port.pid")" 2>/dev/null; do sleep 0.1; done
fi
"""
_RESTART = f"""{STOP}
setsid {{python}} -m trninv serve --port "$port" </dev/null >"$port.log" 2>&1 &
echo $! > "$port.new"
mv "$port.new" "$port.pid"
"""


@dataclass
class Proxy:
    """nginx before two processes of the service.

    Attributes
    ----------
    plain, secure
        Its ports, without and with TLS.
    processes
        The ports of the processes.
    environment
        That of deploy/rolling-restart and of the processes that it starts.

    """

    directory: Path
    plain: int
    secure: int
    processes: list[int]
    environment: dict[str, str]

    def restart(self) -> subprocess.Popen[str]:
        """Start deploy/rolling-restart."""
        return subprocess.Popen(
            [ROOT / "deploy" / "rolling-restart"], env=self.environment, stdout=-1, stderr=-1, text=True
        )

    def process_ids(self) -> list[int]:
        """The ids of the processes that serve now."""
        return [int((self.directory / f"{port}.pid").read_text()) for port in self.processes]


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait(is_done: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.05)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def proxied(directory: Path, database: str) -> Iterator[Proxy]:
    """Nginx and two processes on a database, with their files in a directory."""
    plain, secure, *processes = _free_ports(4)
    certificate, key = directory / "trninv.pem", directory / "trninv.key"
    subject = ["-subj", "/CN=trninv.example", "-addext", "subjectAltName=DNS:trninv.example"]
    words = [
        "openssl",
        "req",
        "-x509",
        "-nodes",
        "-newkey",
        "rsa:2048",
        "-out",
        str(certificate),
        "-keyout",
        str(key),
        *subject,
    ]
    subprocess.run(words, check=True, capture_output=True)
    replaced = {
        "/etc/nginx/conf.d/trninv-upstream.inc": str(directory / "trninv-upstream.inc"),
        "/etc/ssl/trninv.pem": str(certificate),
        "/etc/ssl/private/trninv.key": str(key),
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
        "listen [::]:443 ssl;": f"listen 127.0.0.1:{plain};",
        "server_name trninv.example;": "server_name trninv.example 127.0.0.1;",
    }
    text = (ROOT / "deploy" / "nginx" / "trninv.conf").read_text()
    for name, value in replaced.items():
        assert name in text, name
        text = text.replace(name, value)
    (directory / "trninv.conf").write_text(text)
    (directory / "nginx.conf").write_text(_NGINX.format(directory=directory))
    upstream = "".join(f"server 127.0.0.1:{port} max_fails=0;\n" for port in processes)
    (directory / "trninv-upstream.inc").write_text(upstream)
    restart = directory / "restart"
    restart.write_text(_RESTART.format(directory=directory, python=sys.executable))
    restart.chmod(0o755)
    nginx = [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(directory / "nginx.conf")]
    own = {
        "TRNINV_DATABASE_URL": database,
        "TRNINV_ALLOWED_HOSTS": "127.0.0.1,trninv.example",
        "TRNINV_LOG": "off",
        "TRNINV_HEARTBEAT": "1",
        "PYTHONPATH": str(ROOT),
        "UPSTREAM": str(directory / "trninv-upstream.inc"),
        "RELOAD": f"{' '.join(nginx)} -s reload",
        "RESTART": f"{restart} trninv@",
        "DRAIN": "4",
    }
    environment = os.environ | own
    for port in processes:
        subprocess.run([restart, f"trninv@{port}"], env=environment, check=True)
    with subprocess.Popen(nginx) as master:
        try:
            for port in processes:
                wait(lambda port=port: answers(f"http://127.0.0.1:{port}/readyz"))  # type: ignore[misc] # bound now
            wait(lambda: answers(f"http://127.0.0.1:{plain}/readyz"))
            yield Proxy(directory, plain, secure, processes, environment)
        finally:
            master.terminate()
            for port in processes:
                with suppress(ProcessLookupError):
                    os.kill(int((directory / f"{port}.pid").read_text()), signal.SIGTERM)
