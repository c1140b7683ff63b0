"""Decide what a reply of a service means: a result, an error, or that the call is sent again.

This module neither sends nor waits, so that the synchronous and the asynchronous client share it.
"""

import json
from asyncio import CancelledError
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import trninv
from trninv import errors
from trninv.database.query_result import QueryResult
from trninv.database.snapshot import AsOf
from trninv.errors import ServiceError, TrninvError, UnreachableError, UsageError
from trninv.remote.json_codec import TypeMismatchError, decode

VERSION_HEADER: Final = "x-trninv-version"
"""Header of every response, with the service's release."""
REQUEST_ID_HEADER: Final = "x-request-id"
AS_OF_HEADER: Final = "x-as-of"
"""Header of rows, with the time and revision that were read."""
MAX_ANSWER_BYTES: Final = 256 * 2**20
"""The longest answer that is read."""
_MAX_RETRIES: Final = 3
_MAX_PAUSE: Final = 30.0
"""The longest pause before a call is sent again, in seconds; if a service asks for a longer one, the call fails."""
_RECONNECT_PAUSE: Final = 0.5
_BUSY_CODES: Final = frozenset({None, "BUSY", "DATABASE_NOT_REACHABLE", "QUOTA_EXCEEDED"})
"""Codes of replies with status 429 or 503 after which the same call may succeed; None: the reply of a proxy."""
_FIRST_POLL_PAUSE: Final = 0.25
_MAX_POLL_PAUSE: Final = 2.0
"""The longest pause before the progress of a job is asked for again, in seconds."""
_RETRIED_STATUSES: Final = frozenset({429, 503})
_TOO_OLD: Final = 404


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of a service."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class SendFailure:
    """Why there is no reply.

    Attributes
    ----------
    is_refused
        Whether nothing accepts connections at the service's address, so that nothing was sent.

    """

    error: UnreachableError
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a call returned, with the time and revision that were read."""

    value: Any
    as_of: AsOf | None


@dataclass(frozen=True)
class Call:
    """A call of a method.

    Attributes
    ----------
    service
        The service's URL.
    body
        The arguments, the scenario and the time, as JSON.
    is_retried
        Whether the call may be sent again, because it changes nothing.

    """

    service: str
    method: str
    body: bytes
    result_type: Any
    is_retried: bool
    verb: ClassVar[str] = "POST"

    @property
    def url(self) -> str:
        """The address to which the body is sent."""
        return f"{self.service}/fleet/{self.method}"

    def read_reply(self, reply: Reply) -> Result:
        """Return the result in a successful reply.

        Raises
        ------
        TypeMismatchError, ValueError, TypeError, LookupError, AttributeError, RecursionError
            It holds something else.

        """
        content = json.loads(reply.body)
        return Result(decode(content["result"], self.result_type), decode(content.get("asOf"), AsOf | None))

    def exchange(self, pause: float | None = 0.0) -> Generator["Attempt", Reply | SendFailure, Result]:
        """Yield the seconds to wait and the call to send, take its reply or failure, and return the result.

        Raises
        ------
        TrninvError
            The service refuses the call, does not answer, or answers with something else.

        """
        for attempt in range(_MAX_RETRIES + 1):
            reply = yield pause or 0.0, self
            pause = self._retry_pause(reply, attempt)
            if pause is None or attempt == _MAX_RETRIES:
                break
        if isinstance(reply, SendFailure):
            raise reply.error
        return self._result(reply)

    def _retry_pause(self, reply: Reply | SendFailure, attempt: int) -> float | None:
        """Return the seconds after which the call is sent again, or None if it is not."""
        if not self.is_retried:
            return None
        if isinstance(reply, SendFailure):
            return _RECONNECT_PAUSE if reply.is_refused and attempt == 0 else None
        if reply.status not in _RETRIED_STATUSES or _error_code(reply) not in _BUSY_CODES:
            return None
        text = reply.headers.get("retry-after", "1")
        pause = float(text) if text.isascii() and text.isdecimal() else _MAX_PAUSE + 1
        return pause if pause <= _MAX_PAUSE else None

    def _result(self, reply: Reply) -> Result:
        if reply.status != 200:  # noqa: PLR2004 # OK
            raise self._error(reply)
        try:
            return self.read_reply(reply)
        except (TypeMismatchError, TrninvError) as mismatch:
            raise self._unusable(f"answered {self.method} with something else: {mismatch}", reply) from None
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise self._unusable(f"answered {self.method} with something else than trninv's JSON", reply) from None

    def _error(self, reply: Reply) -> TrninvError:
        """Return the error that a reply reports, of the same class as in the service."""
        if 300 <= reply.status < 400:  # noqa: PLR2004 # a redirect
            target = urlsplit(reply.headers.get("location", ""))
            where = f"{target.scheme}://{target.hostname}"[:100] if target.hostname else "another path"
            return self._unusable(
                f"redirects to {where}; redirects are not followed, as the token is for {self.service} only", reply
            )
        code, message = _error_code(reply), _error_message(reply)
        if reply.status == _TOO_OLD and VERSION_HEADER not in reply.headers:
            return self._unusable("has no methods for clients: it is older than this client, or not trninv", reply)
        if code is None or message is None:
            return self._unusable(f"responded with {reply.status}, and is not a trninv service", reply)
        error = _error_class(code)(f"{message}{self._versions(reply)}")
        error.code = code
        return _with_request_id(error, reply)

    def _unusable(self, reason: str, reply: Reply) -> ServiceError:
        error = ServiceError(f"{self.service} {reason}{self._versions(reply)}")
        error.code = ServiceError.code
        return _with_request_id(error, reply)  # type: ignore[return-value] # the same object

    def _versions(self, reply: Reply) -> str:
        """Return both releases if they differ, or nothing."""
        version = reply.headers.get(VERSION_HEADER, "")[:40]
        if version == trninv.__version__ or not version:
            return ""
        return f" (the service is trninv {version}, this client {trninv.__version__})"


Attempt = tuple[float, Call]
"""The seconds to wait, and the call to send then."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job of the service; `error` says why it failed."""

    id: str
    state: str
    done: int
    total: int | None
    error: str | None


@dataclass(frozen=True)
class JobCall(Call):
    """A call of a question that the service runs as a job; the exchange asks for its progress until it ends.

    Attributes
    ----------
    progress
        A function that is called with the name of the counted items, how many are done, and how many there are.

    """

    progress: Callable[[str, int, int], None] = lambda *_: None

    def read_reply(self, reply: Reply) -> Result:
        """Return the result of a job that is done, or its progress."""
        content = json.loads(reply.body)
        job: JobProgress = decode(content["job"], JobProgress)
        return Result(decode(content["result"], self.result_type) if job.state == "done" else job, None)

    def exchange(self, pause: float | None = 0.0) -> Generator[Attempt, Reply | SendFailure, Result]:
        """Start the job, and ask for its progress until it ends; an interruption or cancellation cancels it."""
        result = yield from super().exchange(pause)
        seconds = _FIRST_POLL_PAUSE
        while isinstance(job := result.value, JobProgress):
            if job.state != "running":
                raise ServiceError(job.error or f"{self.method} was {job.state}")
            if job.total is not None:
                self.progress("failures", job.done, job.total)
            poll = replace(self, body=json.dumps({"job": job.id}).encode(), is_retried=True)
            try:
                result = yield from Call.exchange(poll, seconds)
            except (KeyboardInterrupt, CancelledError):
                yield 0.0, replace(self, body=json.dumps({"job": job.id, "cancel": True}).encode())
                raise
            seconds = min(2 * seconds, _MAX_POLL_PAUSE)
        return result


class RowsCall(Call):
    """A call of /sql, /cypher or a list, which return columns, rows and whether rows were omitted."""

    @property
    def url(self) -> str:
        """The address to which the body is sent."""
        return f"{self.service}/{self.method}"

    def read_reply(self, reply: Reply) -> Result:
        """Return the rows in the body of a successful reply, and the state that its header names."""
        content = json.loads(reply.body)
        columns, records = decode(content["columns"], tuple[str, ...]), decode(content["rows"], list[Any])
        rows = [tuple(record[column] for column in columns) for record in records]
        time, _, revision = reply.headers.get(AS_OF_HEADER, "").partition("; revision=")
        as_of = AsOf(datetime.fromisoformat(time), revision or None) if time else None
        return Result(QueryResult(columns, rows, decode(content["truncated"], bool)), as_of)


class ReportCall(RowsCall):
    """A call of a report, whose parameters are in the address."""

    verb = "GET"


class ReportListCall(RowsCall):
    """A call of the list of reports."""

    verb = "GET"

    def read_reply(self, reply: Reply) -> Result:
        """Return the reports in the body, as JSON."""
        return Result(decode(json.loads(reply.body), list[Any]), None)


class GraphqlCall(RowsCall):
    """A call that runs a GraphQL document, which returns the response with its errors."""

    def read_reply(self, reply: Reply) -> Result:
        """Return the response's JSON."""
        content = json.loads(reply.body)
        if not content.keys() & {"data", "errors"}:
            raise ValueError("no response of GraphQL")
        return Result(content, None)


def parse_service_url(url: str) -> str:
    """Return a service's URL without a final slash.

    Raises
    ------
    UsageError
        It is not the URL of a service.

    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        is_valid = False
    if not is_valid or parts.username is not None or parts.query or parts.fragment or not url.isprintable():
        raise UsageError("not a service's URL: write https://HOST[:PORT][/PATH], and pass the token separately")
    return url.rstrip("/")


def _with_request_id(error: TrninvError, reply: Reply) -> TrninvError:
    error.request_id = reply.headers.get(REQUEST_ID_HEADER, "")[:64]
    return error


def _first_error(reply: Reply) -> Mapping[str, Any]:
    try:
        first = json.loads(reply.body)["errors"][0]
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


def _error_code(reply: Reply) -> str | None:
    extensions = _first_error(reply).get("extensions")
    code = extensions.get("code") if isinstance(extensions, dict) else None
    return code if isinstance(code, str) else None


def _error_message(reply: Reply) -> str | None:
    message = _first_error(reply).get("message")
    return message if isinstance(message, str) else None


@cache
def _classes_by_code() -> Mapping[str, type[TrninvError]]:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, TrninvError)]
    return {error_class.code: error_class for error_class in classes}


def _error_class(code: str) -> type[TrninvError]:
    """Return the class of a code; that of services for a code of a later release."""
    return _classes_by_code().get(code, ServiceError)
