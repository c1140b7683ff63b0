"""A receiver of webhooks that fails as it is told, and keeps what it accepts."""

import base64
import hmac
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

SECRET = b"0123456789abcdef0123456789abcdef"
SECRET_TEXT = f"whsec_{base64.b64encode(SECRET).decode()}"


@dataclass
class FlakyReceiver:
    """Answers with each status of a script in turn, then with 204; 0 closes the connection without an answer.

    `attempts` has the id and the status of each request, `accepted` the bodies of those that it accepted.
    """

    port: int = 0
    script: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    attempts: list[tuple[str, int]] = field(default_factory=list)
    accepted: list[dict[str, Any]] = field(default_factory=list)
    unsigned: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=1"

    def file(self, *, selections: str, more: str = "", name: str = "pager") -> bytes:
        """A file with this receiver."""
        return f"""receivers:
- name: {name}
  url: {self.url}
  secret_env: PAGER
  allow_networks: [127.0.0.0/8]
{more}{"".join(f"  {line}{chr(10)}" for line in selections.split(chr(10)))}""".encode()


@contextmanager
def flaky_receiver(script: Sequence[int] = (), certificate: Path | None = None) -> Iterator[FlakyReceiver]:
    """Serve on a free port; with a file of a certificate and its key, over TLS."""
    receiver = FlakyReceiver(script=list(script))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.script.pop(0) if receiver.script else 204
            receiver.attempts.append((self.headers["webhook-id"], status))
            signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
            expected = base64.b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
            receiver.unsigned += self.headers.get("webhook-signature") != f"v1,{expected}"
            if status == 0:
                self.close_connection = True
                return
            if status < 300:
                receiver.accepted.append(orjson.loads(body))
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of connections that a client broke off."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
