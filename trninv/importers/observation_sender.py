"""Send observations to a service, and retry with backoff and jitter.

A machine may send an observation again if it got no answer: the service stores the same content once. The request says
how old the observation is, so that one that arrives late does not pass for news.
"""

import json
import os
import random
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from trninv.database.stored_changes import STORED
from trninv.errors import UnreachableError, UsageError

_TIMEOUT_SECONDS: Final = 60
_MAX_RESPONSE: Final = 1 << 16
"""The maximum number of bytes read from a service's response."""
_RETRIED_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed; 500 too, as from a database whose disk is full."""
_STATUSES_OF_PROXIES: Final = frozenset({502, 504})
"""Statuses with which a proxy says that the service did not answer it."""
_FIRST_BACKOFF: Final = 1.0
_MAX_BACKOFF: Final = 60.0
"""The longest random pause before the first retry, and before any retry, in seconds."""


class _NoRedirect(HTTPRedirectHandler):
    """A handler that refuses redirects, so that the token never reaches another server."""

    def redirect_request(self, *_: object) -> None:
        return None


OPENER: Final = build_opener(_NoRedirect)


class _RetryableError(Exception):
    """A failed attempt, after which another may succeed.

    Parameters
    ----------
    error
        The error to raise if there is no other attempt.
    retry_after
        Seconds that the service asks to wait.

    """

    def __init__(self, error: UsageError | UnreachableError, retry_after: float = 0.0) -> None:
        super().__init__(str(error))
        self.error, self.retry_after = error, retry_after


class _NoAnswerError(_RetryableError):
    """A request was sent, but not answered: the service may have stored the observation."""


@dataclass(frozen=True)
class ObservationSender:
    """Posts observations to a service's /observations.

    Attributes
    ----------
    service
        The service's URL.
    read_token
        Returns the bearer token, or "" to send none. It is called for each attempt, because files of tokens change.
    report_retry
        Called before each pause with a sentence that says why and for how long.

    """

    service: str
    read_token: Callable[[], str]
    report_retry: Callable[[str], object]
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        if not self.service.startswith(("https://", "http://")):
            raise UsageError(f"--to {self.service[:80]}: write the service's URL, such as https://trninv.example")

    def send(self, observation: str, retry_seconds: float) -> str:
        """Post an observation that was collected just now, and return the response's text.

        Parameters
        ----------
        retry_seconds
            How long to retry; an attempt that would begin later is not made.

        Raises
        ------
        UsageError
            The service refuses the observation; the message quotes its answer.
        UnreachableError
            The service does not answer.

        """
        start, attempt = self.clock(), 0
        while True:
            try:
                with STORED.storing(unknown=(_NoAnswerError,)):
                    return self._post(observation, self.clock() - start)
            except _RetryableError as failure:
                pause = failure.retry_after + self.rng.uniform(0, min(_MAX_BACKOFF, _FIRST_BACKOFF * 2**attempt))
                if self.clock() - start + pause > retry_seconds:
                    raise failure.error from None
                self.report_retry(f"{failure}; retrying in {pause:.1f} s")
            self.sleep(pause)
            attempt = min(attempt + 1, 10)  # the longest pause is reached

    def _post(self, observation: str, age: float) -> str:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token := self.read_token():
            headers["Authorization"] = f"Bearer {token}"
        url = f"{self.service.rstrip('/')}/observations?age={age:.3f}"
        try:
            request = Request(url, observation.encode(), headers)  # noqa: S310 # http(s), as checked
            with OPENER.open(request, timeout=_TIMEOUT_SECONDS) as response:
                return str(response.read(_MAX_RESPONSE).decode(errors="replace"))
        except HTTPError as error:
            with error:
                message = f"{self.service} responded with {error.code}: {_error_message(error.read(_MAX_RESPONSE))}"
            if error.code in _RETRIED_STATUSES:
                kind = _NoAnswerError if error.code in _STATUSES_OF_PROXIES else _RetryableError
                raise kind(UsageError(message), _retry_after(error.headers)) from None
            raise UsageError(message) from None
        except (OSError, HTTPException, ValueError) as error:  # OSError includes URLError, time-outs and resets
            reason = error.reason if isinstance(error, URLError) else error
            unreachable = UnreachableError(f"{self.service} does not answer: {reason}")
            if isinstance(reason, ssl.SSLCertVerificationError | ValueError):
                raise unreachable from None
            was_sent = not isinstance(reason, ConnectionRefusedError | socket.gaierror)
            raise (_NoAnswerError if was_sent else _RetryableError)(unreachable) from None


def _error_message(body: bytes) -> str:
    """Return the message in an error response, or "it is not a trninv service" if the body has no such message."""
    try:
        return str(json.loads(body)["errors"][0]["message"])
    except (ValueError, TypeError, LookupError):
        return "it is not a trninv service"


def _retry_after(headers: Message) -> float:
    """Return the seconds that a Retry-After header asks to wait; 0 without one.

    A date is compared with the response's own, because this machine's clock may be wrong.
    """
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdecimal() and len(text) <= len("86400"):
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(headers["Date"])).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def read_token() -> str:
    """Return the token in TRNINV_TOKEN or in the file that TRNINV_TOKEN_FILE names; "" if neither is set.

    Raises
    ------
    UsageError
        Both are set, or the file can't be read.

    """
    token, file = os.environ.get("TRNINV_TOKEN", ""), os.environ.get("TRNINV_TOKEN_FILE", "")
    if token and file:
        raise UsageError("TRNINV_TOKEN and TRNINV_TOKEN_FILE are both set; unset one")
    if not file:
        return token
    try:
        return Path(file).read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(f"TRNINV_TOKEN_FILE={file}: {error.strerror}; put the token into this file") from None
    except UnicodeDecodeError:
        raise UsageError(f"TRNINV_TOKEN_FILE={file} has no token; write what trninv token create prints") from None
