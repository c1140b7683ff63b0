"""Build the responses that `Api` returns, with errors that reveal no internals to the client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from graphql import GraphQLError

from trninv.database.snapshot import AsOf
from trninv.errors import (
    DatabaseError,
    DiskFullError,
    InternalError,
    ReadOnlyError,
    SchemaOutdatedError,
    TrninvError,
    UnreachableError,
    explain_memory_error,
)

_EXPLANATIONS: Final[Mapping[type[DatabaseError], str]] = {
    UnreachableError: "did not answer",
    ReadOnlyError: "can only be read here",
    DiskFullError: "has no space left, and nothing changed",
    SchemaOutdatedError: "has no tables, or another schema version than this service",
    DatabaseError: "did not answer",
}
"""What clients are told about errors of the database, by class."""


@dataclass(slots=True)
class Response:
    """The response to a request.

    Attributes
    ----------
    body
        JSON of data, errors and extensions.
    is_executed
        Whether the document was executed; an invalid request has no data.
    cost
        Cost of the document; 0 if it was refused before it was priced.
    code
        Code of the first error, if any.
    as_of
        Time and revision that were read; None if nothing was read.
    as_of_by_key
        Time and revision that each asOf field read, by response key.
    failures
        Internal errors, which are logged; the client sees only the request's id.
    reads_clock
        Whether it depends on the current time, so that it serves no later request; None: unknown, as graphql-core
        executed the document.
    state
        Id of the state of the database that it shows: a revision, or all that `ObservationCommits` gives one key; None
        if it serves no later request.

    """

    body: bytes
    is_executed: bool = True
    cost: int = 0
    code: str | None = None
    as_of: AsOf | None = None
    as_of_by_key: Mapping[str, AsOf | None] = field(default_factory=dict)
    failures: tuple[BaseException, ...] = ()
    reads_clock: bool | None = None
    state: str | None = None

    def with_body(self, body: bytes) -> "Response":
        """Return the same response with another body."""
        return Response(
            body,
            self.is_executed,
            self.cost,
            self.code,
            self.as_of,
            self.as_of_by_key,
            self.failures,
            self.reads_clock,
            self.state,
        )

    def omitted_clusters(self) -> list[dict[str, Any]]:
        """Return the clusters without data at the requested time, each with the path of the field that omits it."""
        as_of_by_path = [([], self.as_of), *(([key], as_of) for key, as_of in self.as_of_by_key.items())]
        return [
            {"path": path, "cluster": cluster.slug, "knownSince": cluster.since}
            for path, as_of in as_of_by_path
            for cluster in (as_of.omitted if as_of else ())
        ]


def root_cause(error: GraphQLError) -> BaseException:
    """Return the innermost cause of a GraphQL error: an error of a root field may wrap one of a field below it."""
    cause: BaseException = error
    while isinstance(cause, GraphQLError) and cause.original_error:
        cause = cause.original_error
    return cause


def internal_cause(error: GraphQLError) -> BaseException | None:
    """Return the internal error behind a GraphQL error, or None if the request is at fault."""
    cause = root_cause(error)
    return cause if isinstance(cause, DatabaseError) or not isinstance(cause, (TrninvError, GraphQLError)) else None


def format_error(error: BaseException, reference: str) -> dict[str, Any]:
    """Return an error's message and extensions for the client, without internals."""
    error = explain_memory_error(error)
    if isinstance(error, GraphQLError):
        return {"message": error.message, "extensions": {"code": "BAD_DOCUMENT"}}
    if isinstance(error, DatabaseError):
        public_error = public_database_error(error, reference)
        return {"message": str(public_error), "extensions": {"code": public_error.code, "requestId": reference}}
    if isinstance(error, TrninvError):
        return {"message": str(error), "extensions": error.extensions}
    return {
        "message": f"internal error: see the server's log for request {reference}",
        "extensions": {"code": InternalError.code, "requestId": reference},
    }


def public_database_error(error: DatabaseError, reference: str) -> DatabaseError:
    """Return the error that a client sees in place of an error of the database, which may hold its address."""
    known_class = next(known_class for known_class in _EXPLANATIONS if isinstance(error, known_class))
    return known_class(f"the database {_EXPLANATIONS[known_class]}: see the server's log for request {reference}")


def failed_response(error: TrninvError, reference: str) -> Response:
    """Return the response to a request that failed before it had any data."""
    error_json = format_error(error, reference)
    failures = (error,) if isinstance(error, DatabaseError) else ()
    return Response(
        orjson.dumps({"data": None, "errors": [error_json]}), code=error_json["extensions"]["code"], failures=failures
    )


def invalid_response(errors: list[GraphQLError], code: str) -> Response:
    """Return the response to an invalid document or invalid variables."""
    errors_json = [{**error.formatted, "extensions": {"code": code}} for error in errors]
    return Response(orjson.dumps({"errors": errors_json}), is_executed=False, code=code)


def refused_response(error: TrninvError) -> Response:
    """Return the response to a request that is refused before anything runs."""
    error_json = {"message": str(error), "extensions": error.extensions}
    return Response(orjson.dumps({"errors": [error_json]}), is_executed=False, code=error.code)
