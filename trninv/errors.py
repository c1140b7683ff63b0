"""Define every expected failure, with its stable code and exit status: 2 if the request itself is wrong, else 1.

TrninvError
├── UsageError                    exit 2: the request itself is wrong
│   ├── UnitError                 BAD_UNIT
│   ├── AddressError              BAD_ADDRESS
│   ├── WrongLevelError           WRONG_LEVEL
│   ├── SamePlaceError            SAME_PLACE
│   ├── InvalidArgumentError      BAD_ARGUMENT
│   │   └── SeveralModelsError    SEVERAL_MODELS
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
    "SeveralModelsError",
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
    remedy
        What to do, for docs/reference/errors.md, which is written from these classes.
    request_id
        Id of the request to a service that failed, which the service's log has too; "" without a service.
    """

    code = "ERROR"
    exit_status = 1
    remedy = ""
    request_id = ""

    @property
    def extensions(self) -> dict[str, Any]:
        """The fields that GraphQL returns next to the message."""
        return {"code": self.code}


class UsageError(TrninvError):
    """An option of a command, or a combination of options, is wrong."""

    code = "BAD_USE"
    remedy = "`trninv COMMAND --help`"
    exit_status = 2


class UnitError(UsageError):
    """A quantity has no unit, or a unit of another dimension (`GB` is not `GiB`, `GB` is not `GB/s`)."""

    code = "BAD_UNIT"
    remedy = "use one of the units in the message"


class AddressError(UsageError):
    """An address does not have the form `cluster[/dD[/sS[/cC[/ncK]]]]`, `…/swN`, `…/efaN`, `cluster/rR`,
    `cluster/fabric/tT/nN`, `A--B` or `@HOST`.
    """

    code = "BAD_ADDRESS"
    remedy = "see the example in the message"


class WrongLevelError(UsageError):
    """The address exists, but the question does not take that kind of place, such as a path to a NIC."""

    code = "WRONG_LEVEL"
    remedy = "use the level that the message names"


class SamePlaceError(UsageError):
    """A bandwidth was asked between two places that share chips."""

    code = "SAME_PLACE"
    remedy = "name two separate places, or ask for the bisection"


class InvalidArgumentError(UsageError):
    """An argument, such as a number of paths, is out of range, is an unknown word, or exceeds what the scope has."""

    code = "BAD_ARGUMENT"
    remedy = "use a value that the message allows"


class SeveralModelsError(InvalidArgumentError):
    """Placement was asked about a place with domains of several models."""

    code = "SEVERAL_MODELS"
    remedy = "name one domain, as the message does"


class InvalidTimeError(UsageError):
    """A time (`--at`, `asOf`, `?at=`) has no zone, is in the future or is before the recorded history, or no event
    has that number.
    """

    code = "BAD_TIME"
    remedy = "write `2026-11-22T02:00:00Z` or the number of an event; the message says where history starts"


class FilterError(UsageError):
    """A filter names a field that the list does not have, or a value that does not exist."""

    code = "BAD_FILTER"
    remedy = "use one of the values in the message"


class DocumentError(UsageError):
    """A GraphQL document has a syntax error or an unknown field, is too deep or too long, or has too many aliases,
    repetitions or nested fragments.
    """

    code = "BAD_DOCUMENT"
    remedy = "see the line in the message, and `schema.graphql`"


class VariablesError(UsageError):
    """A variable of a GraphQL document is missing or has the wrong type."""

    code = "BAD_VARIABLES"
    remedy = "see the name in the message"


class NotExpressibleError(UsageError):
    """A format of `trninv topology` cannot express the scope: a NeuronSwitch domain as a torus, more than 65,536
    servers for Slurm, ….
    """

    code = "NOT_EXPRESSIBLE"
    remedy = "use the format that the message suggests"


class SqlError(UsageError):
    """The SQL is not one SELECT over the tables and views, or the database rejected it."""

    code = "BAD_SQL"
    remedy = "remove what the message names"


class CypherError(UsageError):
    """The Cypher is not one query that only reads, or it failed."""

    code = "BAD_CYPHER"
    remedy = "remove what the message names, or return less"


class InvalidFileError(UsageError):
    """Files to import have errors, each listed with its file and position; nothing was imported. Or an archive is
    damaged, missing or belongs to another database; nothing was removed.

    Attributes
    ----------
    errors
        One message per error in the files to import, with its file and position.
    """

    code = "BAD_FILE"
    remedy = "fix or omit the files and import again; for an archive, see the message"

    def __init__(self, message: str, errors: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.errors = errors

    @property
    def extensions(self) -> dict[str, Any]:
        """Include the first hundred errors, if there are any, as "faults"."""
        faults = {"faults": list(self.errors[:100])} if self.errors else {}
        return super().extensions | faults


class RequestError(UsageError):
    """An HTTP request is not valid: no query, a body that is not JSON or exceeds a megabyte (413), an unknown
    `Host`, a query parameter that is misspelled or repeated.
    """

    code = "BAD_REQUEST"
    remedy = "see the message"


class MethodError(RequestError):
    """A mutation was sent by GET, or the path does not support the method."""

    code = "METHOD_NOT_ALLOWED"
    remedy = "send mutations by POST; the header `Allow` lists the methods"


class NotFoundError(TrninvError):
    """The thing does not exist, or the service does not serve that path."""

    code = "NOT_FOUND"
    remedy = "the message says how to list what exists"


class UnknownAddressError(NotFoundError):
    """The address is well formed, but nothing is there."""

    code = "UNKNOWN_ADDRESS"
    remedy = "try the address that the message suggests"


class UnknownSystemError(NotFoundError):
    """The name passed to `trninv seed` is not a system."""

    code = "UNKNOWN_SYSTEM"
    remedy = "`trninv systems`"


class UnknownFactError(NotFoundError):
    """No source states facts about that subject."""

    code = "UNKNOWN_FACT"
    remedy = "try the subject that the message suggests"


class UnknownDocumentError(NotFoundError):
    """The server does not have a GraphQL document with that `documentId`."""

    code = "UNKNOWN_DOCUMENT"
    remedy = "send the query, or ask the operator to add the document"


class UnknownReportError(NotFoundError):
    """No report has that name."""

    code = "UNKNOWN_REPORT"
    remedy = "`trninv report`"


class UnknownValueError(NotFoundError):
    """A report parameter names something that does not exist, such as a cluster."""

    code = "UNKNOWN_VALUE"
    remedy = "try the name that the message suggests"


class UnknownJobError(NotFoundError):
    """No job has ever had that name."""

    code = "UNKNOWN_JOB"
    remedy = "try the name that the message suggests, or `trninv jobs`"


class UnknownReservationError(NotFoundError):
    """No reservation has that name, or it was cancelled or is over."""

    code = "UNKNOWN_RESERVATION"
    remedy = "try the name that the message suggests, or `trninv reservations`"


class UnknownTokenError(NotFoundError):
    """No principal has that name, or it has no token of that number."""

    code = "UNKNOWN_TOKEN"
    remedy = "`trninv token list`"


class AccessError(TrninvError):
    """Access is denied; the service answers with one of the next two codes."""

    code = "NOT_ALLOWED"
    remedy = "see the next two codes"


class UnauthenticatedError(AccessError):
    """The request has no identity, or one that is not valid: a token that is unknown, revoked, expired or not for
    this service, an identity document with a wrong signature, or a header that does not come from the trusted
    proxy.
    """

    code = "UNAUTHENTICATED"
    remedy = "sign in, or `trninv token create`"


class ForbiddenError(AccessError):
    """The scope of the token or of the person's groups does not allow the request."""

    code = "FORBIDDEN"
    remedy = "use a token with the scope in the message"


class AdoptionError(TrninvError):
    """`trninv adopt` cannot create a cluster from the imported observations: some are missing, or they contradict
    each other.
    """

    code = "NOT_ADOPTABLE"
    remedy = "the message says what is missing; import the topology of all instances"


class ConflictError(TrninvError):
    """A chip is already allocated or reserved, is down or is on a cordoned server; a job or reservation of that
    name exists; somebody else has changed a part since you read it (`unchangedSince`); there is no single kind of
    token to rotate; or an instance that enrolls has a token already. Nothing was changed.
    """

    code = "CONFLICT"
    remedy = (
        "the message names the chip and its job, or the change; find another place (`trninv place`), or read the "
        "part again"
    )


class StalePlanError(TrninvError):
    """Allocations, cordons or states have changed since the plan was made; nothing was changed."""

    code = "STALE_PLAN"
    remedy = "make a new plan (`trninv make-room`, `trninv drain-impact` or `trninv replace`)"


class IllegalSizeError(TrninvError):
    """Schedulers do not give a job that number of chips of this model."""

    code = "ILLEGAL_SIZE"
    remedy = "use the nearest size in the message, or `--any-block` if your own launcher can start such a job"


class ScopeTooLargeError(TrninvError):
    """The scope is larger than the question, the format or the limit of an answer allows."""

    code = "SCOPE_TOO_LARGE"
    remedy = "ask about a smaller scope; the message names the limit"


class CostLimitError(TrninvError):
    """A GraphQL request costs more than `TRNINV_MAX_COST`."""

    code = "COST_LIMIT"
    remedy = "the message names the most expensive field: nest less, page, or split the request"


class TimeLimitError(TrninvError):
    """A request or statement exceeded its time limit (`TRNINV_REQUEST_SECONDS`, from the first byte of the
    request), or the request did not arrive in time (408).
    """

    code = "TIME_LIMIT"
    remedy = "ask for less, or about a smaller scope"


class BusyError(TrninvError):
    """A resource was in use, and nothing was done: no worker was free within the time limit; `TRNINV_EXPORTS`
    exports were running; all 15 database connections were busy for 30 s; another `trninv archive` was using the
    directory, had written to the object store, or was removing events; the queue of reports was full; or somebody
    imported newer observations of the same source during your import.
    """

    code = "BUSY"
    remedy = "retry after the seconds in `Retry-After`, with fewer requests at a time"


class OutOfMemoryError(TrninvError):
    """The process reached its limit of memory (`ulimit -v`, `MemoryMax`) or the system has no more; nothing was
    changed.
    """

    code = "OUT_OF_MEMORY"
    remedy = "raise the limit, ask for less, or send fewer requests at a time"


class QuotaError(TrninvError):
    """A token with scope `observe` has used its hourly quota (`TRNINV_OBSERVE_ROWS`, `TRNINV_OBSERVE_BYTES`);
    nothing of the request was stored.

    Attributes
    ----------
    unit
        The exceeded unit: rows or bytes.
    retry_after
        Seconds until the hour ends.
    """

    code = "QUOTA_EXCEEDED"
    remedy = "report again in the next hour (`Retry-After`); unchanged content counts once"

    def __init__(self, message: str, unit: str = "rows", retry_after: int = 0) -> None:
        super().__init__(message)
        self.unit, self.retry_after = unit, retry_after


class InternalError(TrninvError):
    """A bug in trninv; the server logs the traceback under the request id in the message."""

    code = "INTERNAL"
    remedy = "report it with the log entry"


class CatalogError(TrninvError):
    """`seed/catalog` is malformed."""

    code = "BAD_CATALOG"
    remedy = "correct the entry that the message names"


class UnknownPatternError(CatalogError):
    """`seed/catalog` or the database names a wiring that no file of `trninv/topology/patterns` describes."""

    code = "UNKNOWN_WIRING"
    remedy = "use one of the wirings in the message, or the version of trninv that seeded the database"


class WorkerError(TrninvError):
    """A process of `trninv sweep` died, or no Dask scheduler answers."""

    code = "WORKER_DIED"
    remedy = "run it again with the same `--journal`: finished scenarios are kept"


class DatabaseError(TrninvError):
    """A statement failed because the database is locked or permission is missing; or `trninv seed` uses a catalog
    whose numbers for a model differ from those of clusters in the database.
    """

    code = "DATABASE"
    remedy = (
        "for a statement, see the database's own error in the message; for `seed`, use another database, or "
        "`trninv unseed` the clusters that the message names"
    )


class DeliveryError(TrninvError):
    """A receiver of webhooks did not accept a message, or has an address that no message may go to.

    Parameters
    ----------
    is_final
        Whether sending it again is in vain.
    retry_after
        Seconds that the receiver asks to wait.
    """

    code = "NOT_DELIVERED"
    remedy = "see the message; `trninv webhooks retry` sends again what was given up"

    def __init__(self, message: str, *, is_final: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.is_final, self.retry_after = is_final, retry_after


class ServiceError(TrninvError):
    """A client can't use what a service answers: it is no trninv, redirects to another address, sends more than 256
    MiB, or is of a release that does not fit; the message names both releases.
    """

    code = "BAD_SERVICE"
    remedy = "check the URL, or use the release of the service"


class DiscoveryError(TrninvError):
    """`trninv discover` could not read a target: a call failed, credentials expired, an answer has no end, or
    another account or cluster answers than before; nothing of the pull was imported.
    """

    code = "DISCOVERY_FAILED"
    remedy = "the message names the call; renew the credentials"


class DiscoveryRefusedError(DiscoveryError):
    """The target refused a call that `trninv discover` needs, or does not have it; nothing of the pull was imported."""

    code = "DISCOVERY_REFUSED"
    remedy = "compare the permissions with `trninv discover --calls`"


class UnreachableError(DatabaseError):
    """There is no connection, the password is wrong, the file is damaged or not a database, or missing next to its
    log, or the server has stopped.
    """

    code = "DATABASE_NOT_REACHABLE"
    remedy = "correct `TRNINV_DATABASE_URL`, retry when the server is back, or restore the file"


class ReadOnlyError(DatabaseError):
    """A change was sent to a standby or a write-protected file."""

    code = "READ_ONLY"
    remedy = "send the change to the primary"


class DiskFullError(DatabaseError):
    """The disk of the database has no space for a change; nothing of it was stored."""

    code = "DISK_FULL"
    remedy = "free space, and retry"


class SchemaOutdatedError(DatabaseError):
    """The file or its tables do not exist, or their schema version is not one that this trninv can use."""

    code = "NOT_MIGRATED"
    remedy = "`trninv migrate`, or upgrade trninv"


class ClusterExistsError(DatabaseError):
    """A cluster with that name but another shape exists."""

    code = "CLUSTER_EXISTS"
    remedy = "`trninv unseed NAME`, or seed it with another `--name`"


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


def how_to_install(extra: str) -> str:
    """Return the end of a message about a missing extra, without a name for pip: trninv is on no package index."""
    return f"install the extra {extra} (trninv docs deploy, Extras)"


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
