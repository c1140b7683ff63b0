"""Define a GraphQL request, the operation prepared from it, and its refusal before anything is executed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLError
from graphql.execution.values import VariableValues

from trninv.errors import RequestError, TrninvError, UsageError, VariablesError
from trninv.graphql.compiler import OperationPlan
from trninv.graphql.document_cache import DocumentErrors, Operation
from trninv.graphql.query_cost import Cost
from trninv.graphql.responses import Response, invalid_response, refused_response


@dataclass(frozen=True, slots=True)
class Request:
    """A GraphQL request (GraphQL over HTTP, 5).

    Attributes
    ----------
    operation
        Name of the operation to run; None if the document has only one.
    document
        Name or digest of a persisted document, instead of a query.
    as_of
        Time or event number to answer for; None for now.

    """

    query: str | None
    variables: dict[str, Any] = field(default_factory=dict)
    operation: str | None = None
    document: str | None = None
    as_of: str | None = None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> "Request":
        """Create a request from its parameters.

        Raises
        ------
        RequestError
            A parameter has the wrong type, or there is neither a query nor a documentId.

        """
        types = {
            "query": str,
            "operationName": str,
            "documentId": str,
            "variables": dict,
            "extensions": dict,
            "at": str,
        }
        for name, expected_type in types.items():
            if parameters.get(name) is not None and not isinstance(parameters[name], expected_type):
                raise RequestError(f"{name} is not {'a string' if expected_type is str else 'a map'}")
        if parameters.get("query") is None and parameters.get("documentId") is None:
            raise RequestError(
                'the request has no query; send {"query": "{ clusters { nodes { slug } } }"} or a documentId'
            )
        return cls(
            parameters.get("query"),
            parameters.get("variables") or {},
            parameters.get("operationName"),
            parameters.get("documentId"),
            parameters.get("at"),
        )


@dataclass(frozen=True, slots=True)
class PreparedOperation:
    """A request that passed validation, authorization and the cost limit.

    Attributes
    ----------
    is_large
        Whether to build the response in a worker thread, not on the event loop.

    """

    operation: Operation
    variables: VariableValues
    cost: Cost
    plan: OperationPlan
    is_large: bool


class RequestRefused(Exception):  # noqa: N818 # carries the response to send
    """The request is refused before execution, with this response."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self.response = response


@contextmanager
def refuse_errors() -> Iterator[None]:
    """Turn errors in a request into RequestRefused."""
    try:
        yield
    except DocumentErrors as document_errors:
        raise RequestRefused(invalid_response(document_errors.errors, document_errors.kind.code)) from None
    except GraphQLError as error:  # a variable is null where the argument is non-null
        raise RequestRefused(invalid_response([error], VariablesError.code)) from None
    except TrninvError as error:
        raise RequestRefused(refused_response(error)) from None
    except RecursionError:
        raise RequestRefused(refused_response(UsageError("the request is nested too deeply; nest less"))) from None
