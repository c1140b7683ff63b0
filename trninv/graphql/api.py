"""Runs documents: what is plain inventory by one compiled statement, the rest by the executor, side by side."""

from collections.abc import AsyncIterator, Hashable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any
from weakref import WeakValueDictionary

import orjson
from anyio import CancelScope, fail_after, to_thread
from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    GraphQLError,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    execute,
    located_error,
)
from graphql.execution.values import VariableValues

from trninv import characters, deadline
from trninv.errors import (
    BusyError,
    DatabaseError,
    ForbiddenError,
    MethodError,
    MomentError,
    RequestError,
    TimeLimitError,
    TrninvError,
    UsageError,
    VariablesError,
)
from trninv.graphql import lifetime
from trninv.graphql import schema as schemas
from trninv.graphql.arguments import At
from trninv.graphql.compile import Asked, Outline, Plan
from trninv.graphql.context import Context, Threads
from trninv.graphql.documents import Documents, Faults, Operation
from trninv.graphql.jobs import Jobs
from trninv.graphql.limits import Cost
from trninv.graphql.response import Response, cause, failed, faulty, refused, told
from trninv.graphql.rows import values_of
from trninv.graphql.statements import Statements
from trninv.graphql.subscriptions import Told
from trninv.inventory.pinned import AsOf
from trninv.inventory.schema import TOKEN_SCOPES_ALLOWED
from trninv.routing.fleet import Fleet
from trninv.routing.readers import Readers
from trninv.routing.servers import StandingThere, servers_of
from trninv.settings import Settings

_LARGE = 250
"""Objects or values of variables, of which more are not put together on the loop that serves."""
_SHOWN = 4_000
"""Objects, each list as long as it may be, of an answer that is remembered and is written on that loop."""
_FEW = 16
"""Variables that are checked on that loop, where the document is known."""
_GRACE = 0.2
"""Seconds in which what is late may say so itself."""


@dataclass(frozen=True, slots=True)
class Request:
    """A GraphQL request (GraphQL over HTTP, 5)."""

    query: str | None
    variables: dict[str, Any] = field(default_factory=dict)
    operation: str | None = None
    document: str | None = None
    at: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Request":
        """From the parameters of a request.

        Raises
        ------
        RequestError
            One is of another type, or there is no document.

        """
        kinds = {
            "query": str,
            "operationName": str,
            "documentId": str,
            "variables": dict,
            "extensions": dict,
            "at": str,
        }
        for name, kind in kinds.items():
            if given.get(name) is not None and not isinstance(given[name], kind):
                raise RequestError(f"{name} is not {'a string' if kind is str else 'a map'}")
        if given.get("query") is None and given.get("documentId") is None:
            raise RequestError(
                'the request has no query: send {"query": "{ clusters { nodes { slug } } }"} or a documentId'
            )
        return cls(
            given.get("query"),
            given.get("variables") or {},
            given.get("operationName"),
            given.get("documentId"),
            given.get("at"),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that may be answered."""

    operation: Operation
    variables: VariableValues
    cost: Cost
    outline: Outline
    is_large: bool


class _Refused(Exception):  # noqa: N818 # carries the answer
    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self.response = response


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse a request for what is wrong with it."""
    try:
        yield
    except Faults as faults:
        raise _Refused(faulty(faults.errors, faults.kind.code)) from None
    except GraphQLError as error:  # of a variable that is null where an argument must not be
        raise _Refused(faulty([error], VariablesError.code)) from None
    except TrninvError as error:
        raise _Refused(refused(error)) from None
    except RecursionError:
        raise _Refused(refused(UsageError("the request is nested too deeply"))) from None


class Api:
    """A fleet's GraphQL API; lives as long as its process."""

    def __init__(
        self, fleet: Fleet, settings: Settings, readers: Readers | None = None, jobs: Jobs | None = None
    ) -> None:
        self.fleet, self.settings, self.threads, self._jobs = fleet, settings, Threads(), jobs
        self._schema = schemas.schema()._schema  # noqa: SLF001 # graphql-core's, which strawberry made
        self.documents = Documents(
            self._schema,
            settings.documents,
            only=settings.persisted_only,
            introspection=settings.introspection,
        )
        self._dialect = _named_parameters(fleet)
        self._readers = readers or Readers(fleet)
        self._told = WeakValueDictionary[Hashable, Told]()
        self._of = {each: Statements(each.engine, each.watched) for each in {fleet, *self._readers.fleets}}

    async def run(
        self, request: Request, *, reads_only: bool = False, who: str = "", scope: str = "admin", reference: str = ""
    ) -> Response:
        """Answer a request; every expected failure is an answer too.

        Parameters
        ----------
        reference
            The request's id, told instead of what must not be.

        """
        asked: _Asked | None = None
        with deadline.limit(self.settings.request_seconds) as clock:
            try:
                asked = self._at_hand(request, scope, reads_only)
                response = self._known(asked, request, reference) if asked else None
                if asked is None or response is None:
                    with fail_after(deadline.remaining(inf) + _GRACE):
                        asked = asked or await self._prepared(request, scope, reads_only)
                        response = await self._answer(asked, request, (who, scope), reference)
            except _Refused as refusal:
                return refusal.response
            except BusyError as error:
                return refused(error)
            except (TrninvError, TimeoutError) as error:
                response = failed(error if isinstance(error, TrninvError) else clock.late(), reference)
            finally:
                clock.cancel()  # what still runs in a thread, of a field that failed or a client that left, stops
        return self._completed(response, asked.cost.value) if asked else response

    async def subscribed(self, request: Request) -> tuple[Told, str | None] | Response:
        """What a subscription tells, and of which scope; a refusal where it is none, or is wrong."""
        with deadline.limit(self.settings.request_seconds):
            try:
                return await self.threads.preparing.run(self._subscribed, request)
            except _Refused as refusal:
                return refusal.response
            except BusyError as error:
                return refused(error)

    def _subscribed(self, request: Request) -> tuple[Told, str | None]:
        with _refusing():
            text = self.documents.named(request.document) if request.document is not None else request.query or ""
            operation = self.documents.operation(text, request.operation)
            if not operation.listens:
                raise RequestError("text/event-stream is for subscriptions: take application/json")
            if request.at is not None:
                raise RequestError("what is to come is of no other time: send a subscription without at")
            if characters.refused(request.variables):
                raise VariablesError(f"a variable {characters.SAYS}")
            variables = operation.variables(request.variables)
            operation.cost(variables).check(self.settings.max_cost)
            (field,) = operation.fields(variables)  # as validation saw to
            scope = operation.argument(field, "scope", variables)
            key = text, operation.node.name and operation.node.name.value, orjson.dumps(request.variables)
            told = self._told.get(key) or self._told.setdefault(key, Told(self._schema, operation, request.variables))
            return told, None if scope is None else str(scope)

    async def _prepared(self, request: Request, scope: str, reads_only: bool) -> "_Asked":
        return await self.threads.preparing.run(self._asked, request, scope, reads_only)

    def _at_hand(self, request: Request, scope: str, reads_only: bool) -> "_Asked | None":
        """As `_asked`, of what needs no thread: a document that is remembered with the looks of its few variables."""
        values = request.variables.values()
        if request.query is None or len(values) > _FEW or any(isinstance(value, dict | list) for value in values):
            return None
        if not self.documents.knows(request.query):
            return None
        with _refusing():
            operation, variables = self._operation(request, scope, reads_only)
            return self._priced(request, operation, variables) if operation.is_known_with(variables) else None

    def _asked(self, request: Request, scope: str, reads_only: bool) -> "_Asked":
        """What a request asks, if it may; in a thread."""
        with _refusing():
            return self._priced(request, *self._operation(request, scope, reads_only))

    def _operation(self, request: Request, scope: str, reads_only: bool) -> tuple[Operation, VariableValues]:
        text = self.documents.named(request.document) if request.document is not None else request.query or ""
        operation = self.documents.operation(text, request.operation)
        if operation.listens:
            raise RequestError("a subscription is a stream: POST it with Accept: text/event-stream")
        if not operation.reads and request.at is not None:
            raise RequestError("what was can't be changed: send a mutation without at")
        if not operation.reads and reads_only:
            raise MethodError("GET only reads: send a mutation by POST")
        if not operation.reads and "operate" not in TOKEN_SCOPES_ALLOWED[scope]:
            raise ForbiddenError("a mutation wants a token of scope operate")
        if characters.refused(request.variables):
            raise VariablesError(f"a variable {characters.SAYS}")
        return operation, operation.variables(request.variables)

    def _priced(self, request: Request, operation: Operation, variables: VariableValues) -> "_Asked":
        cost = operation.cost(variables)
        cost.check(self.settings.max_cost)
        outline = operation.outline(variables)
        is_large = cost.objects > _LARGE or characters.parts(request.variables) > _LARGE or outline.introspects
        return _Asked(operation, variables, cost, outline, is_large)

    def _completed(self, response: Response, cost: int) -> Response:
        """With what it cost, and of which state it is."""
        response.cost = cost
        spent = {"cost": {"spent": cost, "limit": self.settings.max_cost}}
        read = {"asOf": response.as_of.fields()} if response.as_of else {}
        unknown = {"leftOut": left_out} if (left_out := response.left_out()) else {}
        response.body = response.body[:-1] + b',"extensions":' + orjson.dumps(spent | read | unknown) + b"}"
        return response

    async def _answer(self, asked: "_Asked", request: Request, who: tuple[str, str], reference: str) -> Response:
        outline, given = asked.outline, request.at
        compiles = self.settings.compiled and bool(outline.plain)
        if compiles and given is None and len(outline.plain) == len(outline.roots):
            compiled = await self._compiled(asked, None)
            if compiled:
                return Response(_merged(outline, compiled[0], {}), as_of=compiled[1])
            compiles = False
        if asks := self._asks(asked, request):
            return await self._answered(asks, asked, reference)
        plain: dict[str, str] = {}
        present = self.fleet if given is None else await self.threads.reading.run(self.fleet.at, given)
        fleet = present.in_one_state()
        async with self._one_state(fleet):
            if compiles:
                plain, _ = await self._compiled(asked, fleet) or ({}, None)
            left = [node for key, nodes in outline.now.items() if key not in plain for node in nodes]
            rest = await self._executed(asked, left, request, self._context(fleet, who))
        found, raised, then = rest.data, list(rest.errors or ()), dict[str, AsOf | None]()
        if found is not None:
            for key, nodes in outline.then.items():
                found[key], faults, then[key] = await self._then(asked, nodes, request, who)
                raised += [_below(key, fault) for fault in faults]
        errors = [self._masked(error, reference) for error in raised]
        failures = tuple(filter(None, map(cause, raised)))
        tail = b',"errors":' + orjson.dumps(errors) if errors else b""
        data = b'{"data":null' if found is None else _merged(outline, plain, found)[:-1]
        code = errors[0]["extensions"]["code"] if errors else None
        return Response(data + tail + b"}", code=code, as_of=fleet.as_of(), then=then, failures=failures)

    def _asks(self, asked: "_Asked", request: Request) -> Asked | None:
        return asked.outline.asked if self.settings.compiled and request.at is None else None

    def _known(self, asked: "_Asked", request: Request, reference: str) -> Response | None:
        """The answer to a question of which all that it takes is remembered; nothing is waited for."""
        asks = self._asks(asked, request)
        if asks is None or asks.stands or asked.cost.objects > _SHOWN:
            return None
        try:
            known = self.fleet.known(asks.question, at_hand=True, **asks.values(asked.variables))
            return known and _shown(asks, *known)
        except Exception as error:  # noqa: BLE001 # whatever it is, it is this field's
            return self._unanswered(asks, error, None, reference)

    async def _answered(self, asks: Asked, asked: "_Asked", reference: str) -> Response:
        """The answer to a question."""
        as_of: AsOf | None = None

        def tell() -> Response:
            nonlocal as_of
            values = asks.values(asked.variables)
            if not asks.stands and (known := self.fleet.known(asks.question, **values)):
                return _shown(asks, *known)
            with self.fleet.in_one_state() as one:
                try:
                    answer = one.ask(asks.question, **values)
                    standing = one.standing(servers_of(answer)) if asks.stands else ()
                    return _shown(asks, answer, one.as_of(), standing)
                finally:
                    as_of = one.as_of()

        try:
            return await self.threads.routing.run(tell)
        except Exception as error:  # noqa: BLE001 # as above
            return self._unanswered(asks, error, as_of, reference)

    def _unanswered(self, asks: Asked, error: Exception, as_of: AsOf | None, reference: str) -> Response:
        """What went wrong with a question, as the executor says it."""
        fault = located_error(error, asks.nodes, [asks.key])
        said, failure = self._masked(fault, reference), cause(fault)
        body = orjson.dumps({"data": None, "errors": [said]})
        return Response(body, code=said["extensions"]["code"], as_of=as_of, failures=(failure,) if failure else ())

    def _context(self, fleet: Fleet, who: tuple[str, str]) -> Context:
        context = Context(fleet, self.settings, self.threads, *who)
        context.jobs = self._jobs
        context.login = self._readers.logins.get(self.fleet.engine)
        return context

    async def _then(
        self, asked: "_Asked", nodes: Sequence[FieldNode], request: Request, who: tuple[str, str]
    ) -> tuple[Any, list[GraphQLError], AsOf | None]:
        """What a field asOf finds of its moment, what went wrong there, and which state that is."""
        time = asked.operation.argument(nodes[0], "time", asked.variables)
        try:
            past = await self.threads.reading.run(self.fleet.at, str(time))
        except MomentError as error:
            return None, [GraphQLError(str(error), nodes, original_error=error)], None
        fleet = past.in_one_state()
        left = [node for each in nodes if each.selection_set for node in each.selection_set.selections]
        async with self._one_state(fleet):
            found = await self._executed(asked, left, request, self._context(fleet, who))
        return found.data, list(found.errors or ()), fleet.as_of()

    @asynccontextmanager
    async def _one_state(self, fleet: Fleet) -> AsyncIterator[None]:
        """Let a fleet of one state go at the end."""
        async with self.threads.states.one():
            try:
                yield
            finally:
                with CancelScope(shield=True):
                    await to_thread.run_sync(fleet.close)

    async def _compiled(self, asked: "_Asked", fleet: Fleet | None) -> tuple[dict[str, str], AsOf | None] | None:
        """The JSON of the compiled fields by response key, and of which state it is, that of a fleet or the newest.

        None where the executor says what is wrong as the schema does, with its place.
        """
        try:
            return await self.threads.reading.run(self._run_compiled, asked, fleet)
        except (BusyError, DatabaseError, TimeLimitError):
            raise
        except TrninvError:
            return None

    def _run_compiled(self, asked: "_Asked", fleet: Fleet | None) -> tuple[dict[str, str], AsOf | None]:
        plan, parameters = asked.outline.plan(self._dialect, asked.variables)
        if fleet is None:
            return self._readers.read(partial(self._alone, plan, parameters))
        return _in_one_state(plan, parameters, fleet)

    def _alone(self, plan: Plan, parameters: Mapping[str, Any], fleet: Fleet) -> tuple[dict[str, str], AsOf | None]:
        if any(isinstance(value, At) for value in parameters.values()):
            with fleet.in_one_state() as one:
                return _in_one_state(plan, parameters, one)
        row, revision = self._of[fleet].one(plan.sql, parameters)
        return dict(zip(plan.keys, row, strict=True)), AsOf.now(revision)

    async def _executed(
        self, asked: "_Asked", left: Sequence[SelectionNode], request: Request, context: Context
    ) -> ExecutionResult:
        """What the executor makes of some selections of the operation's type."""
        operation = asked.operation
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

        async def put_together() -> ExecutionResult:
            async with lifetime.document():
                result = execute(
                    self._schema,
                    document,
                    context_value=context,
                    variable_values=request.variables,
                    hide_suggestions=not self.settings.introspection,
                )
                return result if isinstance(result, ExecutionResult) else await result

        return await (self.threads.loops.run(put_together) if asked.is_large else put_together())

    def _masked(self, error: GraphQLError, reference: str) -> dict[str, Any]:
        return {**error.formatted, **told(error.original_error or error, reference)}


def _in_one_state(plan: Plan, parameters: Mapping[str, Any], fleet: Fleet) -> tuple[dict[str, str], AsOf | None]:
    with fleet.reading() as connection:
        bound = dict(zip(parameters, values_of(connection, parameters.values()), strict=True))
        found = connection.exec_driver_sql(plan.sql, bound).one()
        return dict(zip(plan.keys, found, strict=True)), fleet.as_of()


def _shown(asks: Asked, answer: Any, as_of: AsOf | None, standing: tuple[StandingThere, ...] = ()) -> Response:
    """What a document shows of the answer to its only field."""
    return Response(b'{"data":{' + orjson.dumps(asks.key) + b":" + asks.json(answer, standing) + b"}}", as_of=as_of)


def _below(key: str, error: GraphQLError) -> GraphQLError:
    """An error of a field within another."""
    path = [key, *(error.path or ())]
    return GraphQLError(error.message, error.nodes, path=path, original_error=error.original_error)


def _merged(outline: Outline, plain: Mapping[str, str], rest: Mapping[str, Any]) -> bytes:
    """Data of both ways, in the order of the document."""
    members = (
        f'"{key}":'.encode() + (plain[key].encode() if key in plain else orjson.dumps(rest[key]))
        for key in outline.roots
    )
    return b'{"data":{' + b",".join(members) + b"}}"


def _named_parameters(fleet: Fleet) -> Any:
    """The dialect of the fleet's database, with parameters by name."""
    if fleet.engine.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415 # the other may be all that is used

        return sqlite.dialect(paramstyle="named")
    return fleet.engine.dialect
