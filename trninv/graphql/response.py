"""What comes of a request, and what a client is told of what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from graphql import GraphQLError

from trninv.errors import DatabaseError, DatabaseUnreachableError, InternalError, ReadOnlyError, TrninvError
from trninv.inventory.pinned import AsOf


@dataclass(slots=True)
class Response:
    """What came of a request.

    Attributes
    ----------
    body
        JSON of data, errors and extensions.
    ran
        Whether the document was executed at all: a request that is wrong has no data.
    as_of
        The state of the database that it is of; None if none was read.
    then
        That of each field `asOf`, by its response key.
    failures
        What a log must know that the client must not: errors that are no fault of the request.

    """

    body: bytes
    is_executed: bool = True
    cost: int = 0
    code: str | None = None
    as_of: AsOf | None = None
    as_of_by_key: Mapping[str, AsOf | None] = field(default_factory=dict)
    failures: tuple[BaseException, ...] = ()

    def omitted_clusters(self) -> list[dict[str, Any]]:
        """Clusters of which nothing is known at a moment, each with where in the answer it can't be."""
        as_of_by_path = [([], self.as_of), *(([key], as_of) for key, as_of in self.as_of_by_key.items())]
        return [
            {"path": path, "cluster": cluster.slug, "knownSince": cluster.since}
            for path, as_of in as_of_by_path
            for cluster in (as_of.omitted if as_of else ())
        ]


def internal_cause(error: GraphQLError) -> BaseException | None:
    """What went wrong inside, if that is what went wrong."""
    original = error.original_error
    if isinstance(original, DatabaseError):
        return original
    return None if isinstance(original, (TrninvError, GraphQLError)) else original


def format_error(error: BaseException, reference: str) -> dict[str, Any]:
    """What a client is told of an error: nothing of what is inside."""
    if isinstance(error, GraphQLError):
        return {"message": error.message, "extensions": {"code": "BAD_DOCUMENT"}}
    if isinstance(error, DatabaseError):
        error_class = next(
            (kind for kind in (DatabaseUnreachableError, ReadOnlyError) if isinstance(error, kind)), DatabaseError
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
    """The answer to what went wrong before there were data."""
    error_json = format_error(error, reference)
    failures = (error,) if isinstance(error, DatabaseError) else ()
    return Response(
        orjson.dumps({"data": None, "errors": [error_json]}), code=error_json["extensions"]["code"], failures=failures
    )


def invalid_response(errors: list[GraphQLError], code: str) -> Response:
    """The answer to a document or variables that are wrong."""
    errors_json = [{**error.formatted, "extensions": {"code": code}} for error in errors]
    return Response(orjson.dumps({"errors": errors_json}), is_executed=False, code=code)


def refused_response(error: TrninvError) -> Response:
    """The answer to a request that is not run."""
    error_json = {"message": str(error), "extensions": error.extensions}
    return Response(orjson.dumps({"errors": [error_json]}), is_executed=False, code=error.code)
