"""Every expected failure, with a stable code and an exit status.

TrninvError
├── UsageError                exit 2: the question itself is wrong
│   ├── UnitError             BAD_UNIT
│   ├── AddressError          BAD_ADDRESS
│   ├── WrongLevelError       WRONG_LEVEL
│   ├── SamePlaceError        SAME_PLACE
│   ├── LimitError            BAD_LIMIT
│   ├── FilterError           BAD_FILTER
│   ├── DocumentError         BAD_DOCUMENT
│   ├── VariablesError        BAD_VARIABLES
│   ├── SqlError              BAD_SQL
│   └── RequestError          BAD_REQUEST
│       └── MethodError       METHOD_NOT_ALLOWED
├── NotFoundError             exit 1: well asked, nothing there
│   ├── UnknownAddressError   UNKNOWN_ADDRESS
│   ├── UnknownSystemError    UNKNOWN_SYSTEM
│   ├── UnknownFactError      UNKNOWN_FACT
│   ├── UnknownDocumentError  UNKNOWN_DOCUMENT
│   ├── UnknownReportError    UNKNOWN_REPORT
│   └── UnknownTokenError     UNKNOWN_TOKEN
├── AccessError               exit 1: not allowed
│   ├── UnauthenticatedError  UNAUTHENTICATED
│   └── ForbiddenError        FORBIDDEN
├── ScopeTooLargeError        SCOPE_TOO_LARGE
├── CostLimitError            COST_LIMIT
├── TimeLimitError            TIME_LIMIT
├── InternalError             INTERNAL
├── CatalogError              BAD_CATALOG
│   └── UnknownWiringError    UNKNOWN_WIRING
├── WorkerError               WORKER_DIED
└── DatabaseError             exit 1: the database is not as it must be
    ├── NotReachableError     DATABASE_NOT_REACHABLE
    ├── NotMigratedError      NOT_MIGRATED
    └── ClusterExistsError    CLUSTER_EXISTS
"""

import difflib
from collections.abc import Iterable

__all__ = [
    "AccessError",
    "AddressError",
    "CatalogError",
    "ClusterExistsError",
    "CostLimitError",
    "DatabaseError",
    "DocumentError",
    "FilterError",
    "ForbiddenError",
    "InternalError",
    "LimitError",
    "MethodError",
    "NotFoundError",
    "NotMigratedError",
    "NotReachableError",
    "RequestError",
    "SamePlaceError",
    "ScopeTooLargeError",
    "SqlError",
    "TimeLimitError",
    "TrninvError",
    "UnauthenticatedError",
    "UnitError",
    "UnknownAddressError",
    "UnknownDocumentError",
    "UnknownFactError",
    "UnknownReportError",
    "UnknownSystemError",
    "UnknownTokenError",
    "UnknownWiringError",
    "UsageError",
    "VariablesError",
    "WorkerError",
    "WrongLevelError",
    "nearest",
]


class TrninvError(Exception):
    """One line that says what is wrong and what to do."""

    code = "ERROR"
    exit_status = 1

    @property
    def extensions(self) -> dict[str, str]:
        """What GraphQL returns next to the message."""
        return {"code": self.code}


class UsageError(TrninvError):
    code = "BAD_USE"
    exit_status = 2


class UnitError(UsageError):
    code = "BAD_UNIT"


class AddressError(UsageError):
    code = "BAD_ADDRESS"


class WrongLevelError(UsageError):
    code = "WRONG_LEVEL"


class SamePlaceError(UsageError):
    code = "SAME_PLACE"


class LimitError(UsageError):
    code = "BAD_LIMIT"


class FilterError(UsageError):
    code = "BAD_FILTER"


class DocumentError(UsageError):
    code = "BAD_DOCUMENT"


class VariablesError(UsageError):
    code = "BAD_VARIABLES"


class SqlError(UsageError):
    code = "BAD_SQL"


class RequestError(UsageError):
    code = "BAD_REQUEST"


class MethodError(RequestError):
    code = "METHOD_NOT_ALLOWED"


class NotFoundError(TrninvError):
    code = "NOT_FOUND"


class UnknownAddressError(NotFoundError):
    code = "UNKNOWN_ADDRESS"


class UnknownSystemError(NotFoundError):
    code = "UNKNOWN_SYSTEM"


class UnknownFactError(NotFoundError):
    code = "UNKNOWN_FACT"


class UnknownDocumentError(NotFoundError):
    code = "UNKNOWN_DOCUMENT"


class UnknownReportError(NotFoundError):
    code = "UNKNOWN_REPORT"


class UnknownTokenError(NotFoundError):
    code = "UNKNOWN_TOKEN"


class AccessError(TrninvError):
    code = "NOT_ALLOWED"


class UnauthenticatedError(AccessError):
    code = "UNAUTHENTICATED"


class ForbiddenError(AccessError):
    code = "FORBIDDEN"


class ScopeTooLargeError(TrninvError):
    code = "SCOPE_TOO_LARGE"


class CostLimitError(TrninvError):
    code = "COST_LIMIT"


class TimeLimitError(TrninvError):
    code = "TIME_LIMIT"


class InternalError(TrninvError):
    code = "INTERNAL"


class CatalogError(TrninvError):
    code = "BAD_CATALOG"


class UnknownWiringError(CatalogError):
    code = "UNKNOWN_WIRING"


class WorkerError(TrninvError):
    code = "WORKER_DIED"


class DatabaseError(TrninvError):
    code = "DATABASE"


class NotReachableError(DatabaseError):
    code = "DATABASE_NOT_REACHABLE"


class NotMigratedError(DatabaseError):
    code = "NOT_MIGRATED"


class ClusterExistsError(DatabaseError):
    code = "CLUSTER_EXISTS"


def nearest(word: str, known: Iterable[str]) -> str:
    """What to suggest instead of an unknown word, as the end of a sentence."""
    names = sorted(known)
    if begins := [name for name in names if word and name.startswith(word)]:
        return f"did you mean {' or '.join(begins[:3])}?"
    if close := difflib.get_close_matches(word, names, n=1, cutoff=0.4):
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(names)}" if names else "none is known"
