"""Build responses and GraphQL errors without leaking internals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from graphql import GraphQLError

from trninv.database.snapshot import AsOf
from trninv.errors import DatabaseError, InternalError, ReadOnlyError, TrninvError, UnreachableError


@dataclass(slots=True)
class Response:
    """The response to a request.

    Attributes
    ----------
    body
        JSON of data, errors and extensions.
    is_executed
        Whether the document was executed; an invalid request has no data.
    code
        Code of the first error, if any.
    as_of
        Time and revision that were read; None if nothing was read.
    as_of_by_key
        The same for each asOf field, by response key.
    failures
        Internal errors, to be logged but not shown to the client.

    """

    body: bytes
    is_executed: bool = True
    cost: int = 0
    code: str | None = None
    as_of: AsOf | None = None
    as_of_by_key: Mapping[str, AsOf | None] = field(default_factory=dict)
    failures: tuple[BaseException, ...] = ()

    def omitted_clusters(self) -> list[dict[str, Any]]:
        """Return the clusters without data at the requested time, each with the path of the field that omits it."""
        as_of_by_path = [([], self.as_of), *(([key], as_of) for key, as_of in self.as_of_by_key.items())]
        return [
            {"path": path, "cluster": cluster.slug, "knownSince": cluster.since}
            for path, as_of in as_of_by_path
            for cluster in (as_of.omitted if as_of else ())
        ]


def internal_cause(error: GraphQLError) -> BaseException | None:
    """Return the internal error behind a GraphQL error, or None if the request is at fault."""
    original = error.original_error
    if isinstance(original, DatabaseError):
        return original
    return None if isinstance(original, (TrninvError, GraphQLError)) else original


def format_error(error: BaseException, reference: str) -> dict[str, Any]:
    """Return an error's message and extensions for the client, without internals."""
    if isinstance(error, GraphQLError):
        return {"message": error.message, "extensions": {"code": "BAD_DOCUMENT"}}
    if isinstance(error, DatabaseError):
        error_class = next(
            (kind for kind in (UnreachableError, ReadOnlyError) if isinstance(error, kind)), DatabaseError
        )
        explanation = "can only be read here" if error_class is ReadOnlyError else "did not answer"
        return {
            "message": f"the database {explanation}: see the server's log for request {reference}",
            "extensions": {"code": error_class.code, "requestId": reference},
        }
    if isinstance(error, TrninvError):
        return {"message": str(error), "extensions": error.extensions}
    return {
        "message": f"internal error: see the server's log for request {reference}",
        "extensions": {"code": InternalError.code, "requestId": reference},
    }


def failed_response(error: TrninvError, reference: str) -> Response:
    """Return the response to a request that failed before there were data."""
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
    """Return the response to a request that is refused."""
    error_json = {"message": str(error), "extensions": error.extensions}
    return Response(orjson.dumps({"errors": [error_json]}), is_executed=False, code=error.code)
