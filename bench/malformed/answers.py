"""Send an input and classify the response, or the fault that it shows."""

import io
import signal
import socket
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch
from urllib.parse import urlsplit

from trninv.cli.main import main

ANSWERED, REFUSED, LIMITED, CLOSED = "answered", "rejected", "time limit", "closed"
BROKEN, TRACEBACK, HANGS = FAULTS = ("5xx", "traceback", "hang")
SECONDS = 5
"""The value of TRNINV_REQUEST_SECONDS."""
_LONGEST = 30
"""Seconds after which a request or command counts as hung."""
_STATUSES = (0, 1, 2)
"""Exit statuses that a command may have."""


def classify_request(url: str, request: bytes, patience: float = _LONGEST) -> str:
    """Send bytes to a service and classify the response.

    If there is no response after ``patience`` seconds, close the sending side and wait again.
    """
    address, response = urlsplit(url), b""
    with socket.create_connection((address.hostname, address.port), patience) as connection:
        try:
            connection.sendall(request)
            response = _receive(connection)
        except TimeoutError:
            if patience == _LONGEST:
                return HANGS
        except OSError:  # the service has closed the connection
            pass
        else:
            return _classify(response)
        return _classify_after_end(connection)
    return _classify(response)


def _classify_after_end(connection: socket.socket) -> str:
    connection.settimeout(_LONGEST)
    try:
        connection.shutdown(socket.SHUT_WR)
        return _classify(_receive(connection))
    except TimeoutError:
        return HANGS
    except OSError:
        return CLOSED


def _receive(connection: socket.socket) -> bytes:
    """Receive until the connection is closed, or until a response that keeps it open."""
    response = b""
    while piece := connection.recv(2**16):
        response += piece
        if b"\r\n\r\n" in response and b"connection: close" not in response.lower():
            break
    return response


def _classify(response: bytes) -> str:
    head, _, body = response.partition(b"\r\n\r\n")
    status = head[9:12]
    if b"Traceback" in response:
        return TRACEBACK
    if status.startswith(b"5") and b"TIME_LIMIT" in body:
        return LIMITED
    if status.startswith(b"5") or b'"INTERNAL"' in body:
        return BROKEN
    if not status:
        return CLOSED
    return REFUSED if status.startswith(b"4") or b'"errors"' in body else ANSWERED


def classify_command(database: str, words: list[str]) -> str:
    """Run the command line in this process with arguments and classify the result."""
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_LONGEST)
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(error),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{"))),
        ):
            main(["--database", database, *words])
    except SystemExit as exit_request:
        if exit_request.code not in _STATUSES or b"Traceback" in error.buffer.getvalue():
            return TRACEBACK
        return REFUSED if exit_request.code else ANSWERED
    except _HangError:
        return HANGS
    except Exception:  # noqa: BLE001 # any exception would print a traceback
        return TRACEBACK
    finally:
        signal.alarm(0)
    return TRACEBACK


class _HangError(BaseException):
    """A command takes too long; not an Exception, so that the command cannot catch it."""


def _give_up(*_: object) -> None:
    raise _HangError
