"""Do the main job of an installed trninv: ``python offline_job.py PROGRAM DATABASE FORMER``.

A process, because it runs in a network namespace of its own, where the service can be asked. FORMER is a database of
the last release.
"""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

_PLACES = "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10"


def main(program: str, database: str, former: str) -> dict[str, object]:
    """Return what each step printed."""

    def run(url: str, *line: str) -> str:
        command = [program, "--database", url, *line]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    run(database, "migrate")
    run(database, "seed", "u-trn2x64")
    return {
        "hops": json.loads(run(database, "path", *_PLACES, "--format", "json"))["paths"][0]["hops"],
        "healthz": ask_service([program, "--database", database, "serve"], "/healthz"),
        "migrate": run(former, "migrate"),
        "verify": run(former, "verify"),
    }


def ask_service(command: list[str], path: str) -> int:
    """Return the status of a service's response, which starts within a minute."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    process = subprocess.Popen([*command, "--port", port], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
                return int(response.status)
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(20)
    raise RuntimeError(f"{command[0]} does not serve")


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
