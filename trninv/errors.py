"""Define every expected failure, with its stable code and exit status: 2 if the request itself is wrong, else 1.

TrninvError
├── UsageError                    exit 2: the request itself is wrong
│   ├── UnitError                 BAD_UNIT
│   ├── AddressError              BAD_ADDRESS
│   ├── WrongLevelError           WRONG_LEVEL
│   ├── SamePlaceError            SAME_PLACE
│   ├── InvalidArgumentError      BAD_ARGUMENT
│   ├── InvalidTimeError          BAD_TIME
│   ├── FilterError               BAD_FILTER
│   ├── DocumentError             BAD_DOCUMENT
│   ├── VariablesError            BAD_VARIABLES
│   ├── NotExpressibleError       NOT_EXPRESSIBLE
│   ├── SqlError                  BAD_SQL
│   ├── CypherError               BAD_CYPHER
│   ├── InvalidFileError          BAD_FILE
│   └── RequestError              BAD_REQUEST
│       └── MethodError           METHOD_NOT_ALLOWED
├── NotFoundError                 exit 1: a valid question about something that does not exist
│   ├── UnknownAddressError       UNKNOWN_ADDRESS
│   ├── UnknownSystemError        UNKNOWN_SYSTEM
│   ├── UnknownFactError          UNKNOWN_FACT
│   ├── UnknownDocumentError      UNKNOWN_DOCUMENT
│   ├── UnknownReportError        UNKNOWN_REPORT
│   ├── UnknownValueError         UNKNOWN_VALUE
│   ├── UnknownJobError           UNKNOWN_JOB
│   ├── UnknownReservationError   UNKNOWN_RESERVATION
│   └── UnknownTokenError         UNKNOWN_TOKEN
├── AccessError                   exit 1: not allowed
│   ├── UnauthenticatedError      UNAUTHENTICATED
│   └── ForbiddenError            FORBIDDEN
├── AdoptionError                 NOT_ADOPTABLE
├── ConflictError                 CONFLICT
├── IllegalSizeError              ILLEGAL_SIZE
├── StalePlanError                STALE_PLAN
├── ScopeTooLargeError            SCOPE_TOO_LARGE
├── CostLimitError                COST_LIMIT
├── TimeLimitError                TIME_LIMIT
├── BusyError                     BUSY
├── OutOfMemoryError              OUT_OF_MEMORY
├── QuotaError                    QUOTA_EXCEEDED
├── InternalError                 INTERNAL
├── CatalogError                  BAD_CATALOG
│   └── UnknownPatternError       UNKNOWN_WIRING
├── WorkerError                   WORKER_DIED
├── DeliveryError                 NOT_DELIVERED
├── ServiceError                  BAD_SERVICE
├── DiscoveryError                DISCOVERY_FAILED
│   └── DiscoveryRefusedError     DISCOVERY_REFUSED
└── DatabaseError                 exit 1: the database is unusable, or refused a statement
    ├── UnreachableError          DATABASE_NOT_REACHABLE
    ├── ReadOnlyError             READ_ONLY
    ├── DiskFullError             DISK_FULL
    ├── SchemaOutdatedError       NOT_MIGRATED
    └── ClusterExistsError        CLUSTER_EXISTS
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "AccessError",
    "AddressError",
    "AdoptionError",
    "BusyError",
    "CatalogError",
    "ClusterExistsError",
    "ConflictError",
    "CostLimitError",
    "CypherError",
    "DatabaseError",
    "DeliveryError",
    "DiscoveryError",
    "DiscoveryRefusedError",
    "DiskFullError",
    "DocumentError",
    "FilterError",
    "ForbiddenError",
    "IllegalSizeError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFileError",
    "InvalidTimeError",
    "MethodError",
    "NotExpressibleError",
    "NotFoundError",
    "OutOfMemoryError",
    "QuotaError",
    "ReadOnlyError",
    "RequestError",
    "SamePlaceError",
    "SchemaOutdatedError",
    "ScopeTooLargeError",
    "ServiceError",
    "SqlError",
    "StalePlanError",
    "TimeLimitError",
    "TrninvError",
    "UnauthenticatedError",
    "UnitError",
    "UnknownAddressError",
    "UnknownDocumentError",
    "UnknownFactError",
    "UnknownJobError",
    "UnknownPatternError",
    "UnknownReportError",
    "UnknownReservationError",
    "UnknownSystemError",
    "UnknownTokenError",
    "UnknownValueError",
    "UnreachableError",
    "UsageError",
    "VariablesError",
    "WorkerError",
    "WrongLevelError",
    "explain_memory_error",
    "suggestion",
]


class TrninvError(Exception):
    """An error whose message is one line: what is wrong and what to do.

    Attributes
    ----------
    request_id
        Id of the request to a service that failed, which the service's log has too; "" without a service.
    """

    code = "ERROR"
    exit_status = 1
    request_id = ""

    @property
    def extensions(self) -> dict[str, Any]:
        """The fields that GraphQL returns next to the message."""
        return {"code": self.code}


class UsageError(TrninvError):
    """The request itself is wrong: exit status 2."""

    code = "BAD_USE"
    exit_status = 2


class UnitError(UsageError):
    """A quantity without a unit, or with a unit of another dimension."""

    code = "BAD_UNIT"


class AddressError(UsageError):
    """Text that does not have the form of an address."""

    code = "BAD_ADDRESS"


class WrongLevelError(UsageError):
    """An address of a level, such as core or rack, that the question does not accept."""

    code = "WRONG_LEVEL"


class SamePlaceError(UsageError):
    """Two places that share chips where they must be disjoint."""

    code = "SAME_PLACE"


class InvalidArgumentError(UsageError):
    """An argument that is not allowed: out of range, an unknown word, or a missing reason."""

    code = "BAD_ARGUMENT"


class InvalidTimeError(UsageError):
    """A time without a zone, in the future, or before the recorded history."""

    code = "BAD_TIME"


class FilterError(UsageError):
    """A filter that the list does not have, or a value that does not exist."""

    code = "BAD_FILTER"


class DocumentError(UsageError):
    """A GraphQL document that the schema does not allow."""

    code = "BAD_DOCUMENT"


class VariablesError(UsageError):
    """Variables that do not fit their document."""

    code = "BAD_VARIABLES"


class NotExpressibleError(UsageError):
    """Something that another program's format cannot express."""

    code = "NOT_EXPRESSIBLE"


class SqlError(UsageError):
    """SQL that is not a single read-only query over trninv's tables and views."""

    code = "BAD_SQL"


class CypherError(UsageError):
    """Cypher that is not a single query that only reads the graph."""

    code = "BAD_CYPHER"


class InvalidFileError(UsageError):
    """Files to import, or an archive, with missing or invalid content.

    Attributes
    ----------
    errors
        One message per error in the files to import, with its file and position.
    """

    code = "BAD_FILE"

    def __init__(self, message: str, errors: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.errors = errors

    @property
    def extensions(self) -> dict[str, Any]:
        """Include the first hundred errors, if there are any, as "faults"."""
        faults = {"faults": list(self.errors[:100])} if self.errors else {}
        return super().extensions | faults


class RequestError(UsageError):
    """An HTTP request that its route does not accept."""

    code = "BAD_REQUEST"


class MethodError(RequestError):
    """A GraphQL mutation sent by GET."""

    code = "METHOD_NOT_ALLOWED"


class NotFoundError(TrninvError):
    """A valid question about something that does not exist: exit status 1."""

    code = "NOT_FOUND"


class UnknownAddressError(NotFoundError):
    """An address of a place that does not exist."""

    code = "UNKNOWN_ADDRESS"


class UnknownSystemError(NotFoundError):
    """A system that no catalog file declares."""

    code = "UNKNOWN_SYSTEM"


class UnknownFactError(NotFoundError):
    """A number that no document states."""

    code = "UNKNOWN_FACT"


class UnknownDocumentError(NotFoundError):
    """A persisted document that the server does not have."""

    code = "UNKNOWN_DOCUMENT"


class UnknownReportError(NotFoundError):
    """A report that is neither trninv's nor the user's."""

    code = "UNKNOWN_REPORT"


class UnknownValueError(NotFoundError):
    """A value of a report's parameter that names nothing that exists."""

    code = "UNKNOWN_VALUE"


class UnknownJobError(NotFoundError):
    """A job that does not exist, or has no allocated chips."""

    code = "UNKNOWN_JOB"


class UnknownReservationError(NotFoundError):
    """A reservation that does not exist, was cancelled or is over."""

    code = "UNKNOWN_RESERVATION"


class UnknownTokenError(NotFoundError):
    """A token that was never created."""

    code = "UNKNOWN_TOKEN"


class AccessError(TrninvError):
    """Access is refused."""

    code = "NOT_ALLOWED"


class UnauthenticatedError(AccessError):
    """No valid token, where one is required."""

    code = "UNAUTHENTICATED"


class ForbiddenError(AccessError):
    """A valid token whose scope does not allow this."""

    code = "FORBIDDEN"


class AdoptionError(TrninvError):
    """Imported observations that do not form a cluster."""

    code = "NOT_ADOPTABLE"


class ConflictError(TrninvError):
    """Chips that are allocated or unavailable, or parts that changed since they were read; nothing was changed."""

    code = "CONFLICT"


class StalePlanError(TrninvError):
    """A plan made for a fleet that has changed since; nothing was changed."""

    code = "STALE_PLAN"


class IllegalSizeError(TrninvError):
    """A number of chips that schedulers never allocate together on the requested hardware."""

    code = "ILLEGAL_SIZE"


class ScopeTooLargeError(TrninvError):
    """A question about more domains than the limit for one answer."""

    code = "SCOPE_TOO_LARGE"


class CostLimitError(TrninvError):
    """A GraphQL document that would cost too much."""

    code = "COST_LIMIT"


class TimeLimitError(TrninvError):
    """A request or statement that took too long."""

    code = "TIME_LIMIT"


class BusyError(TrninvError):
    """Too many concurrent requests of this kind; the request was not started."""

    code = "BUSY"


class OutOfMemoryError(TrninvError):
    """The process got no more memory from the system, or reached its limit."""

    code = "OUT_OF_MEMORY"


class QuotaError(TrninvError):
    """More than a token may report in an hour; nothing of the request was stored.

    Attributes
    ----------
    unit
        The exceeded unit: rows or bytes.
    retry_after
        Seconds until the hour ends.
    """

    code = "QUOTA_EXCEEDED"

    def __init__(self, message: str, unit: str = "rows", retry_after: int = 0) -> None:
        super().__init__(message)
        self.unit, self.retry_after = unit, retry_after


class InternalError(TrninvError):
    """A defect of trninv."""

    code = "INTERNAL"


class CatalogError(TrninvError):
    """A catalog file with impossible content."""

    code = "BAD_CATALOG"


class UnknownPatternError(CatalogError):
    """A wiring pattern that does not exist."""

    code = "UNKNOWN_WIRING"


class WorkerError(TrninvError):
    """A worker process of a sweep died, or its Dask scheduler does not answer."""

    code = "WORKER_DIED"


class DatabaseError(TrninvError):
    """The database is unusable, or refused a statement."""

    code = "DATABASE"


class DeliveryError(TrninvError):
    """A webhook's message that its receiver did not accept.

    Parameters
    ----------
    is_final
        Whether sending it again is in vain.
    retry_after
        Seconds that the receiver asks to wait.

    """

    code = "NOT_DELIVERED"

    def __init__(self, message: str, *, is_final: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.is_final, self.retry_after = is_final, retry_after


class ServiceError(TrninvError):
    """An answer of a service that a client can't use: it is no trninv, too long, or of a release that doesn't fit."""

    code = "BAD_SERVICE"


class DiscoveryError(TrninvError):
    """A call of a pull failed, so that nothing of the pull was imported."""

    code = "DISCOVERY_FAILED"


class DiscoveryRefusedError(DiscoveryError):
    """A call that these credentials may not send, or that the target does not have."""

    code = "DISCOVERY_REFUSED"


class UnreachableError(DatabaseError):
    """A database, a service or a file that cannot be reached."""

    code = "DATABASE_NOT_REACHABLE"


class ReadOnlyError(DatabaseError):
    """A change to a database that is read only here: a standby, or a write-protected file."""

    code = "READ_ONLY"


class DiskFullError(DatabaseError):
    """A change for which the database's disk has no space; nothing of it was stored."""

    code = "DISK_FULL"


class SchemaOutdatedError(DatabaseError):
    """The database has another schema version, or no trninv tables."""

    code = "NOT_MIGRATED"


class ClusterExistsError(DatabaseError):
    """A cluster to create whose name another cluster already has."""

    code = "CLUSTER_EXISTS"


_OUT_OF_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "without exception set",  # SystemError: CPython lost the MemoryError of an allocation of its own
    "without setting an exception",
)
"""What errors of the system say, in lower case, if a file, a library, a thread or the interpreter gets no memory."""


def explain_memory_error(error: BaseException) -> BaseException:
    """Return an `OutOfMemoryError` in place of an error that means the same, or else the error itself."""
    reasons = str(error).lower()
    is_of_system = isinstance(error, OSError | ImportError | RuntimeError | SystemError)
    if not isinstance(error, MemoryError) and not (is_of_system and any(text in reasons for text in _OUT_OF_MEMORY)):
        return error
    return OutOfMemoryError("there is not enough memory: raise the limit (ulimit -v, MemoryMax), or ask for less")


_MAX_NAMES = 20
"""The maximum number of names in a message."""


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: likely choices, or else a list of all choices."""
    names = sorted(choices)
    if starting := [name for name in names if word and name.startswith(word)]:
        return f"did you mean {' or '.join(starting[:3])}?"
    if close := difflib.get_close_matches(word, names, n=1, cutoff=0.4):
        return f"did you mean {close[0]}?"
    more = ", and more" if len(names) > _MAX_NAMES else ""
    return f"known: {', '.join(names[:_MAX_NAMES])}{more}" if names else "none is known"
