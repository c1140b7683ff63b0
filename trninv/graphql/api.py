"""Runs documents: what is plain inventory by one compiled statement, the rest by the executor, side by side."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import orjson
from anyio import fail_after, to_thread
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    OperationDefinitionNode,
    SelectionSetNode,
    execute,
)
from graphql.execution.values import VariableValues

from trninv import deadline
from trninv.errors import (
    DatabaseError,
    ForbiddenError,
    InternalError,
    MethodError,
    NotReachableError,
    RequestError,
    TimeLimitError,
    TrninvError,
    UsageError,
    VariablesError,
)
from trninv.graphql import lifetime
from trninv.graphql import schema as schemas
from trninv.graphql.arguments import At
from trninv.graphql.compile import Outline
from trninv.graphql.context import Context, Threads
from trninv.graphql.documents import Documents, Faults, Operation
from trninv.graphql.rows import values_of
from trninv.graphql.statements import Statements
from trninv.inventory.database import reading
from trninv.inventory.schema import TOKEN_SCOPES_ALLOWED
from trninv.routing.fleet import Fleet
from trninv.settings import Settings

_GRACE = 0.2
"""Seconds in which what is late may say so itself."""


@dataclass(frozen=True, slots=True)
class Request:
    """A GraphQL request (GraphQL over HTTP, 5)."""

    query: str | None
    variables: dict[str, Any] = field(default_factory=dict)
    operation: str | None = None
    document: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Request":
        """From the parameters of a request.

        Raises
        ------
        RequestError
            One is of another type, or there is no document.

        """
        kinds = {"query": str, "operationName": str, "documentId": str, "variables": dict, "extensions": dict}
        for name, kind in kinds.items():
            if given.get(name) is not None and not isinstance(given[name], kind):
                raise RequestError(f"{name} is not {'a string' if kind is str else 'a map'}")
        if given.get("query") is None and given.get("documentId") is None:
            raise RequestError(
                'the request has no query: send {"query": "{ clusters { nodes { slug } } }"} or a documentId'
            )
        return cls(
            given.get("query"), given.get("variables") or {}, given.get("operationName"), given.get("documentId")
        )


@dataclass(slots=True)
class Response:
    """What came of a request.

    Attributes
    ----------
    body
        JSON of data, errors and extensions.
    ran
        Whether the document was executed at all: a request that is wrong has no data.
    failures
        What a log must know that the client must not: errors that are no fault of the request.

    """

    body: bytes
    ran: bool = True
    cost: int = 0
    code: str | None = None
    failures: tuple[BaseException, ...] = ()


class Api:
    """A fleet's GraphQL API; lives as long as its process."""

    def __init__(self, fleet: Fleet, settings: Settings) -> None:
        self.fleet, self.settings, self.threads = fleet, settings, Threads()
        self._schema = schemas.schema()._schema  # noqa: SLF001 # graphql-core's, which strawberry made
        self.documents = Documents(
            self._schema,
            settings.documents,
            only=settings.persisted_only,
            introspection=settings.introspection,
        )
        self._dialect, self._statements = _named_parameters(fleet), Statements(fleet.engine)

    async def run(
        self,
        request: Request,
        *,
        reads_only: bool = False,
        who: str = "",
        scope: str = "admin",
        reference: str = "",
        while_waited_for: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> Response:
        """Answer a request; every expected failure is an answer too.

        Parameters
        ----------
        reference
            The request's id, told instead of what must not be.
        while_waited_for
            Entered around what may take long; it cancels that when nobody waits any more.

        """
        try:
            text = self.documents.named(request.document) if request.document is not None else request.query or ""
            operation = self.documents.operation(text, request.operation)
            if not operation.reads and reads_only:
                return _refused(MethodError("GET only reads: send a mutation by POST"))
            if not operation.reads and "operate" not in TOKEN_SCOPES_ALLOWED[scope]:
                raise ForbiddenError("a mutation wants a token of scope operate")
            variables = operation.variables(request.variables)
            cost = operation.cost(variables)
            cost.check(self.settings.max_cost)
        except Faults as faults:
            return _faulty(faults.errors, faults.kind.code)
        except GraphQLError as error:  # of a variable that is null where an argument must not be
            return _faulty([error], VariablesError.code)
        except TrninvError as error:
            return _refused(error)
        except RecursionError:
            return _refused(UsageError("the request is nested too deeply"))
        with deadline.limit(self.settings.request_seconds) as clock:
            try:
                response = await self._answer(operation, request, variables, (who, scope), reference, while_waited_for)
            except (TrninvError, TimeoutError) as error:
                known = error if isinstance(error, TrninvError) else clock.late()
                told = _told(known, reference)
                response = Response(orjson.dumps({"data": None, "errors": [told]}), code=told["extensions"]["code"])
                response.failures = (known,) if isinstance(known, DatabaseError) else ()
            finally:
                clock.cancel()  # what still runs in a thread, of a field that failed or a client that left, stops
        response.cost = cost.value
        spent = orjson.dumps({"cost": {"spent": cost.value, "limit": self.settings.max_cost}})
        response.body = response.body[:-1] + b',"extensions":' + spent + b"}"
        return response

    async def _answer(
        self,
        operation: Operation,
        request: Request,
        variables: VariableValues,
        who: tuple[str, str],
        reference: str,
        while_waited_for: Callable[[], AbstractAsyncContextManager[object]],
    ) -> Response:
        outline = operation.outline(variables)
        plain: dict[str, str] = {}
        if outline.plain and self.settings.compiled:
            try:
                plain = await to_thread.run_sync(
                    self._compiled, outline, variables, limiter=self.threads.reading, abandon_on_cancel=True
                )
            except (DatabaseError, TimeLimitError):
                raise
            except TrninvError:
                plain = {}  # the executor says it as the schema does, with its place
        if len(plain) == len(outline.roots):
            return Response(_merged(outline, plain, {}))
        with fail_after(self.settings.request_seconds + _GRACE):
            async with while_waited_for():
                rest = await self._executed(operation, outline, plain, request, who)
        errors = [self._masked(error, reference) for error in rest.errors or ()]
        failures = tuple(filter(None, map(_cause, rest.errors or ())))
        tail = b',"errors":' + orjson.dumps(errors) if errors else b""
        data = b'{"data":null' if rest.data is None else _merged(outline, plain, rest.data)[:-1]
        return Response(data + tail + b"}", code=errors[0]["extensions"]["code"] if errors else None, failures=failures)

    def _compiled(self, outline: Outline, variables: VariableValues) -> dict[str, str]:
        """The JSON of the compiled fields by response key; in a thread."""
        plan, parameters = outline.plan(self._dialect, variables)
        if any(isinstance(value, At) for value in parameters.values()):
            with reading(self.fleet.engine) as connection:
                parameters = dict(zip(parameters, values_of(connection, parameters.values()), strict=True))
        return dict(zip(plan.keys, self._statements.one(plan.sql, parameters), strict=True))

    async def _executed(
        self, operation: Operation, outline: Outline, plain: Mapping[str, str], request: Request, who: tuple[str, str]
    ) -> ExecutionResult:
        """What the executor makes of the fields that are not compiled."""
        left = [node for key, nodes in outline.roots.items() if key not in plain for node in nodes]
        node = operation.node
        rest = OperationDefinitionNode(
            operation=node.operation,
            name=node.name,
            variable_definitions=node.variable_definitions,
            directives=node.directives,
            selection_set=SelectionSetNode(selections=tuple(left)),
            loc=node.loc,
        )
        document = DocumentNode(definitions=(rest, *operation.fragments.values()))
        async with lifetime.document():
            result = execute(
                self._schema,
                document,
                context_value=Context(self.fleet, self.settings, self.threads, *who),
                variable_values=request.variables,
            )
            return result if isinstance(result, ExecutionResult) else await result

    def _masked(self, error: GraphQLError, reference: str) -> dict[str, Any]:
        return {**error.formatted, **_told(error.original_error or error, reference)}


def _merged(outline: Outline, plain: Mapping[str, str], rest: Mapping[str, Any]) -> bytes:
    """Data of both ways, in the order of the document."""
    members = (
        f'"{key}":'.encode() + (plain[key].encode() if key in plain else orjson.dumps(rest[key]))
        for key in outline.roots
    )
    return b'{"data":{' + b",".join(members) + b"}}"


def _cause(error: GraphQLError) -> BaseException | None:
    """What went wrong inside, if that is what went wrong."""
    cause = error.original_error
    if isinstance(cause, DatabaseError):
        return cause
    return None if isinstance(cause, (TrninvError, GraphQLError)) else cause


def _told(error: BaseException, reference: str) -> dict[str, Any]:
    """What a client is told of an error: nothing of what is inside."""
    if isinstance(error, GraphQLError):
        return {"message": error.message, "extensions": {"code": "BAD_DOCUMENT"}}
    if isinstance(error, DatabaseError):
        known = NotReachableError if isinstance(error, NotReachableError) else DatabaseError
        return {
            "message": f"the database did not answer: see the server's log for request {reference}",
            "extensions": {"code": known.code, "requestId": reference},
        }
    if isinstance(error, TrninvError):
        return {"message": str(error), "extensions": error.extensions}
    return {
        "message": f"internal error: see the server's log for request {reference}",
        "extensions": {"code": InternalError.code, "requestId": reference},
    }


def _faulty(errors: list[GraphQLError], code: str) -> Response:
    """The answer to a document or variables that are wrong."""
    told = [{**error.formatted, "extensions": {"code": code}} for error in errors]
    return Response(orjson.dumps({"errors": told}), ran=False, code=code)


def _refused(error: TrninvError) -> Response:
    told = {"message": str(error), "extensions": error.extensions}
    return Response(orjson.dumps({"errors": [told]}), ran=False, code=error.code)


def _named_parameters(fleet: Fleet) -> Any:
    """The dialect of the fleet's database, with parameters by name."""
    if fleet.engine.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415 # the other may be all that is used

        return sqlite.dialect(paramstyle="named")
    return fleet.engine.dialect
