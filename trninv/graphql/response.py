"""What comes of a request, and what a client is told of what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from graphql import GraphQLError

from trninv.errors import DatabaseError, InternalError, NotReachableError, ReadOnlyError, TrninvError
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
    ran: bool = True
    cost: int = 0
    code: str | None = None
    as_of: AsOf | None = None
    then: Mapping[str, AsOf | None] = field(default_factory=dict)
    failures: tuple[BaseException, ...] = ()

    def left_out(self) -> list[dict[str, Any]]:
        """Clusters of which nothing is known at a moment, each with where in the answer it can't be."""
        below = [([], self.as_of), *(([key], of) for key, of in self.then.items())]
        return [
            {"path": path, "cluster": each.slug, "knownSince": each.since}
            for path, of in below
            for each in (of.left_out if of else ())
        ]


def cause(error: GraphQLError) -> BaseException | None:
    """What went wrong inside, if that is what went wrong."""
    cause = error.original_error
    if isinstance(cause, DatabaseError):
        return cause
    return None if isinstance(cause, (TrninvError, GraphQLError)) else cause


def told(error: BaseException, reference: str) -> dict[str, Any]:
    """What a client is told of an error: nothing of what is inside."""
    if isinstance(error, GraphQLError):
        return {"message": error.message, "extensions": {"code": "BAD_DOCUMENT"}}
    if isinstance(error, DatabaseError):
        known = next((kind for kind in (NotReachableError, ReadOnlyError) if isinstance(error, kind)), DatabaseError)
        said = "can only be read here" if known is ReadOnlyError else "did not answer"
        return {
            "message": f"the database {said}: see the server's log for request {reference}",
            "extensions": {"code": known.code, "requestId": reference},
        }
    if isinstance(error, TrninvError):
        return {"message": str(error), "extensions": error.extensions}
    return {
        "message": f"internal error: see the server's log for request {reference}",
        "extensions": {"code": InternalError.code, "requestId": reference},
    }


def failed(error: TrninvError, reference: str) -> Response:
    """The answer to what went wrong before there were data."""
    said = told(error, reference)
    failures = (error,) if isinstance(error, DatabaseError) else ()
    return Response(orjson.dumps({"data": None, "errors": [said]}), code=said["extensions"]["code"], failures=failures)


def faulty(errors: list[GraphQLError], code: str) -> Response:
    """The answer to a document or variables that are wrong."""
    told = [{**error.formatted, "extensions": {"code": code}} for error in errors]
    return Response(orjson.dumps({"errors": told}), ran=False, code=code)


def refused(error: TrninvError) -> Response:
    """The answer to a request that is not run."""
    told = {"message": str(error), "extensions": error.extensions}
    return Response(orjson.dumps({"errors": [told]}), ran=False, code=error.code)
