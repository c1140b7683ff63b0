"""Run GraphQL requests: parse, price, then compile or execute."""

from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
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
from trninv.database.snapshot import AsOf
from trninv.database.tables import TOKEN_SCOPES_ALLOWED
from trninv.errors import (
    BusyError,
    DatabaseError,
    ForbiddenError,
    InvalidTimeError,
    MethodError,
    RequestError,
    TimeLimitError,
    TrninvError,
    VariablesError,
)
from trninv.graphql import graphql_schema as schemas
from trninv.graphql import task_scope
from trninv.graphql.compiler import CompiledQuestion, CompiledStatement, OperationPlan
from trninv.graphql.document_cache import DocumentCache, Operation
from trninv.graphql.document_request import PreparedOperation, Request, RequestRefused, refuse_errors
from trninv.graphql.graphql_schema import EventSerializer
from trninv.graphql.list_arguments import AddressTest
from trninv.graphql.request_context import RequestContext, ThreadPools
from trninv.graphql.responses import (
    Response,
    failed_response,
    format_error,
    internal_cause,
    refused_response,
)
from trninv.graphql.row_loaders import resolve_values
from trninv.graphql.statement_runner import StatementRunner
from trninv.graphql.sweep_store import SweepStore
from trninv.routing.evidence import ServerInstance, servers_in_answer
from trninv.routing.fleet import BaseFleet
from trninv.routing.read_replicas import ReadReplicas
from trninv.settings import Settings

MAX_INLINE_OBJECTS = 250
"""Responses with more objects, or requests with more variable values, are built in a worker thread."""
MAX_CACHED_INLINE_OBJECTS = 4_000
"""A cached answer with at most this many objects (lists at their maximum length) is encoded on the event loop."""
MAX_INLINE_VARIABLES = 16
"""Variables that are checked on the event loop if the document is cached."""
TIMEOUT_GRACE = 0.2
"""Grace period in seconds for a late task to report its own timeout."""


class Api:
    """GraphQL API of a fleet; one per process."""

    def __init__(
        self,
        fleet: BaseFleet,
        settings: Settings,
        readers: ReadReplicas | None = None,
        sweeps: SweepStore | None = None,
    ) -> None:
        self.fleet, self.settings, self.threads, self._sweeps = fleet, settings, ThreadPools(), sweeps
        self._schema = schemas.schema()._schema  # noqa: SLF001 # the graphql-core schema inside strawberry's
        self.documents = DocumentCache(
            self._schema,
            settings.documents,
            persisted_only=settings.persisted_only,
            introspection=settings.introspection,
        )
        self._dialect = _keyword_dialect(fleet)
        self._readers = readers or ReadReplicas(fleet)
        self._serializers = WeakValueDictionary[Hashable, EventSerializer]()
        self._statement_runners = {
            readable_fleet: StatementRunner(readable_fleet.engine, readable_fleet.revision_tracker)
            for readable_fleet in {fleet, *self._readers.fleets}
        }

    async def run(
        self, request: Request, *, reads_only: bool = False, who: str = "", scope: str = "admin", reference: str = ""
    ) -> Response:
        """Run a request and return its response; expected failures are responses too.

        Parameters
        ----------
        reference
            Id of the request, shown to the client in place of internal errors.

        """
        prepared: PreparedOperation | None = None
        with deadline.time_limit(self.settings.request_seconds) as clock:
            try:
                prepared = self._prepare_inline(request, scope, reads_only)
                response = self._cached_answer(prepared, request, reference) if prepared else None
                if prepared is None or response is None:
                    with fail_after(deadline.cap_timeout(inf) + TIMEOUT_GRACE):
                        prepared = prepared or await self._prepare_in_thread(request, scope, reads_only)
                        response = await self._respond(prepared, request, (who, scope), reference)
            except RequestRefused as refusal:
                return refusal.response
            except BusyError as error:
                return refused_response(error)
            except (TrninvError, TimeoutError) as error:
                response = failed_response(
                    error if isinstance(error, TrninvError) else clock.timeout_error(), reference
                )
            finally:
                clock.cancel()  # stops threads of failed fields and of disconnected clients
        return self._add_extensions(response, prepared.cost.value) if prepared else response

    async def subscribe(self, request: Request) -> tuple[EventSerializer, str | None] | Response:
        """Return a subscription's event serializer and scope, or the response that refuses it."""
        with deadline.time_limit(self.settings.request_seconds):
            try:
                return await self.threads.preparing.run(self._prepare_subscription, request)
            except RequestRefused as refusal:
                return refusal.response
            except BusyError as error:
                return refused_response(error)

    def _prepare_subscription(self, request: Request) -> tuple[EventSerializer, str | None]:
        with refuse_errors():
            text = (
                self.documents.persisted_text(request.document) if request.document is not None else request.query or ""
            )
            operation = self.documents.operation(text, request.operation)
            if not operation.is_subscription:
                raise RequestError("Accept: text/event-stream is for subscriptions; use application/json")
            if request.as_of is not None:
                raise RequestError("a subscription delivers future events; remove at")
            if characters.has_forbidden_characters(request.variables):
                raise VariablesError(f"a variable {characters.FORBIDDEN_MESSAGE}")
            variables = operation.variables(request.variables)
            operation.cost(variables).check(self.settings.max_cost)
            (field,) = operation.fields(variables)  # validation allows one root field only
            scope = operation.argument(field, "scope", variables)
            key = text, operation.node.name and operation.node.name.value, orjson.dumps(request.variables)
            serializer = self._serializers.get(key) or self._serializers.setdefault(
                key, EventSerializer(self._schema, operation, request.variables)
            )
            return serializer, None if scope is None else str(scope)

    async def _prepare_in_thread(self, request: Request, scope: str, reads_only: bool) -> "PreparedOperation":
        return await self.threads.preparing.run(self._prepare, request, scope, reads_only)

    def _prepare_inline(self, request: Request, scope: str, reads_only: bool) -> "PreparedOperation | None":
        """Prepare a request on the event loop if its document, cost and plan are cached; else return None."""
        values = request.variables.values()
        if (
            request.query is None
            or len(values) > MAX_INLINE_VARIABLES
            or any(isinstance(value, dict | list) for value in values)
        ):
            return None
        if not self.documents.is_cached(request.query):
            return None
        with refuse_errors():
            operation, variables = self._parse_operation(request, scope, reads_only)
            return self._price(request, operation, variables) if operation.is_cached_for(variables) else None

    def _prepare(self, request: Request, scope: str, reads_only: bool) -> "PreparedOperation":
        """Prepare a request; parsing and validation are slow, so call it in a thread."""
        with refuse_errors():
            return self._price(request, *self._parse_operation(request, scope, reads_only))

    def _parse_operation(self, request: Request, scope: str, reads_only: bool) -> tuple[Operation, VariableValues]:
        text = self.documents.persisted_text(request.document) if request.document is not None else request.query or ""
        operation = self.documents.operation(text, request.operation)
        if operation.is_subscription:
            raise RequestError("a subscription is a stream; POST it with Accept: text/event-stream")
        if not operation.is_query and request.as_of is not None:
            raise RequestError("the past cannot be changed; send the mutation without at")
        if not operation.is_query and reads_only:
            raise MethodError("GET only reads; send a mutation by POST")
        if not operation.is_query and "operate" not in TOKEN_SCOPES_ALLOWED[scope]:
            raise ForbiddenError("a mutation needs a token of scope operate")
        if characters.has_forbidden_characters(request.variables):
            raise VariablesError(f"a variable {characters.FORBIDDEN_MESSAGE}")
        return operation, operation.variables(request.variables)

    def _price(self, request: Request, operation: Operation, variables: VariableValues) -> "PreparedOperation":
        cost = operation.cost(variables)
        cost.check(self.settings.max_cost)
        plan = operation.plan_for(variables)
        is_large = (
            cost.objects > MAX_INLINE_OBJECTS
            or characters.count_values(request.variables) > MAX_INLINE_OBJECTS
            or plan.introspects
        )
        return PreparedOperation(operation, variables, cost, plan, is_large)

    def _add_extensions(self, response: Response, cost: int) -> Response:
        """Add the cost, the revision read and the omitted clusters to the body."""
        response.cost = cost
        cost_json = {"cost": {"spent": cost, "limit": self.settings.max_cost}}
        as_of_json = {"asOf": response.as_of.fields()} if response.as_of else {}
        omitted_json = {"omittedClusters": omitted} if (omitted := response.omitted_clusters()) else {}
        response.body = (
            response.body[:-1] + b',"extensions":' + orjson.dumps(cost_json | as_of_json | omitted_json) + b"}"
        )
        return response

    async def _respond(
        self, prepared: "PreparedOperation", request: Request, who: tuple[str, str], reference: str
    ) -> Response:
        plan, as_of = prepared.plan, request.as_of
        is_compiled = self.settings.compiled and bool(plan.compiled_keys)
        if is_compiled and as_of is None and len(plan.compiled_keys) == len(plan.roots):
            compiled = await self._run_compiled_in_thread(prepared, None)
            if compiled:
                return Response(_merge_data(plan, compiled[0], {}), as_of=compiled[1])
            is_compiled = False
        if question := self._compiled_question(prepared, request):
            return await self._answer_question(question, prepared, reference)
        compiled_json: dict[str, str] = {}
        fleet_now = self.fleet if as_of is None else await self.threads.reading.run(self.fleet.at, as_of)
        fleet = fleet_now.snapshot()
        async with self._closing_snapshot(fleet):
            if is_compiled:
                compiled_json, _ = await self._run_compiled_in_thread(prepared, fleet) or ({}, None)
            nodes_left = [
                node for key, nodes in plan.current_roots.items() if key not in compiled_json for node in nodes
            ]
            execution = await self._execute_selections(prepared, nodes_left, request, self._create_context(fleet, who))
        resolved, errors_raised, as_of_by_key = execution.data, list(execution.errors or ()), dict[str, AsOf | None]()
        if resolved is not None:
            for key, nodes in plan.as_of_roots.items():
                resolved[key], errors_below, as_of_by_key[key] = await self._run_as_of(prepared, nodes, request, who)
                errors_raised += [_nest_error(key, error_below) for error_below in errors_below]
        errors = [self._mask_error(error, reference) for error in errors_raised]
        failures = tuple(filter(None, map(internal_cause, errors_raised)))
        tail = b',"errors":' + orjson.dumps(errors) if errors else b""
        data = b'{"data":null' if resolved is None else _merge_data(plan, compiled_json, resolved)[:-1]
        code = errors[0]["extensions"]["code"] if errors else None
        return Response(
            data + tail + b"}", code=code, as_of=fleet.as_of(), as_of_by_key=as_of_by_key, failures=failures
        )

    def _compiled_question(self, prepared: "PreparedOperation", request: Request) -> CompiledQuestion | None:
        return prepared.plan.question if self.settings.compiled and request.as_of is None else None

    def _cached_answer(self, prepared: "PreparedOperation", request: Request, reference: str) -> Response | None:
        """Return the response to a question if its answer is cached, without blocking; else None."""
        question = self._compiled_question(prepared, request)
        if question is None or question.has_instances or prepared.cost.objects > MAX_CACHED_INLINE_OBJECTS:
            return None
        try:
            cached = self.fleet.cached_answer(
                question.question, without_waiting=True, **question.values(prepared.variables)
            )
            return cached and _answer_response(question, *cached)
        except Exception as error:  # noqa: BLE001 # any error belongs to this field
            return self._failed_answer(question, error, None, reference)

    async def _answer_question(
        self, question: CompiledQuestion, prepared: "PreparedOperation", reference: str
    ) -> Response:
        """Answer a question in a thread, from the cache if possible."""
        as_of: AsOf | None = None

        def compute() -> Response:
            nonlocal as_of
            values = question.values(prepared.variables)
            if not question.has_instances and (cached := self.fleet.cached_answer(question.question, **values)):
                return _answer_response(question, *cached)
            with self.fleet.snapshot() as snapshot:
                try:
                    answer = snapshot.ask(question.question, **values)
                    instances = snapshot.instances(servers_in_answer(answer)) if question.has_instances else ()
                    return _answer_response(question, answer, snapshot.as_of(), instances)
                finally:
                    as_of = snapshot.as_of()

        try:
            return await self.threads.routing.run(compute)
        except Exception as error:  # noqa: BLE001 # any error belongs to this field
            return self._failed_answer(question, error, as_of, reference)

    def _failed_answer(
        self, question: CompiledQuestion, error: Exception, as_of: AsOf | None, reference: str
    ) -> Response:
        """Return the response to a failed question, as the executor would."""
        graphql_error = located_error(error, question.nodes, [question.key])
        message, failure = self._mask_error(graphql_error, reference), internal_cause(graphql_error)
        body = orjson.dumps({"data": None, "errors": [message]})
        return Response(body, code=message["extensions"]["code"], as_of=as_of, failures=(failure,) if failure else ())

    def _create_context(self, fleet: BaseFleet, who: tuple[str, str]) -> RequestContext:
        context = RequestContext(fleet, self.settings, self.threads, *who)
        context.sweeps = self._sweeps
        context.login = self._readers.logins.get(self.fleet.engine)
        return context

    async def _run_as_of(
        self, prepared: "PreparedOperation", nodes: Sequence[FieldNode], request: Request, who: tuple[str, str]
    ) -> tuple[Any, list[GraphQLError], AsOf | None]:
        """Execute an asOf field at its time; return its data, its errors and the revision read."""
        time = prepared.operation.argument(nodes[0], "time", prepared.variables)
        try:
            past = await self.threads.reading.run(self.fleet.at, str(time))
        except InvalidTimeError as error:
            return None, [GraphQLError(str(error), nodes, original_error=error)], None
        fleet = past.snapshot()
        selections = [
            node for field_node in nodes if field_node.selection_set for node in field_node.selection_set.selections
        ]
        async with self._closing_snapshot(fleet):
            execution = await self._execute_selections(prepared, selections, request, self._create_context(fleet, who))
        return execution.data, list(execution.errors or ()), fleet.as_of()

    @asynccontextmanager
    async def _closing_snapshot(self, fleet: BaseFleet) -> AsyncIterator[None]:
        """Close the snapshot on exit, even if the request is cancelled."""
        async with self.threads.states.slot():
            try:
                yield
            finally:
                with CancelScope(shield=True):
                    await to_thread.run_sync(fleet.close)

    async def _run_compiled_in_thread(
        self, prepared: "PreparedOperation", fleet: BaseFleet | None
    ) -> tuple[dict[str, str], AsOf | None] | None:
        """Return the compiled fields' JSON by response key and the revision read, from a snapshot or the latest state.

        None if an argument is wrong: the executor then reports the error with its path.
        """
        try:
            return await self.threads.reading.run(self._run_compiled, prepared, fleet)
        except (BusyError, DatabaseError, TimeLimitError):
            raise
        except TrninvError:
            return None

    def _run_compiled(
        self, prepared: "PreparedOperation", fleet: BaseFleet | None
    ) -> tuple[dict[str, str], AsOf | None]:
        statement, parameters = prepared.plan.statement_for(self._dialect, prepared.variables)
        if fleet is None:
            return self._readers.read(partial(self._run_single_statement, statement, parameters))
        return _run_on_snapshot(statement, parameters, fleet)

    def _run_single_statement(
        self, statement: CompiledStatement, parameters: Mapping[str, Any], fleet: BaseFleet
    ) -> tuple[dict[str, str], AsOf | None]:
        if any(isinstance(value, AddressTest) for value in parameters.values()):
            with fleet.snapshot() as snapshot:
                return _run_on_snapshot(statement, parameters, snapshot)
        row, revision = self._statement_runners[fleet].fetch_row(statement.sql, parameters)
        return dict(zip(statement.keys, row, strict=True)), AsOf.latest(revision)

    async def _execute_selections(
        self,
        prepared: "PreparedOperation",
        selections: Sequence[SelectionNode],
        request: Request,
        context: RequestContext,
    ) -> ExecutionResult:
        """Execute some of the operation's root selections with graphql-core."""
        operation = prepared.operation
        node = operation.node
        operation_node = OperationDefinitionNode(
            operation=node.operation,
            name=node.name,
            variable_definitions=node.variable_definitions,
            directives=node.directives,
            selection_set=SelectionSetNode(selections=tuple(selections)),
            loc=node.loc,
        )
        document = DocumentNode(definitions=(operation_node, *operation.fragments.values()))

        async def execute_document() -> ExecutionResult:
            async with task_scope.document_tasks():
                result = execute(
                    self._schema,
                    document,
                    context_value=context,
                    variable_values=request.variables,
                    hide_suggestions=not self.settings.introspection,
                )
                return result if isinstance(result, ExecutionResult) else await result

        return await (self.threads.loops.run(execute_document) if prepared.is_large else execute_document())

    def _mask_error(self, error: GraphQLError, reference: str) -> dict[str, Any]:
        return {**error.formatted, **format_error(error.original_error or error, reference)}


def _run_on_snapshot(
    statement: CompiledStatement, parameters: Mapping[str, Any], fleet: BaseFleet
) -> tuple[dict[str, str], AsOf | None]:
    with fleet.connect() as connection:
        values = dict(zip(parameters, resolve_values(connection, parameters.values()), strict=True))
        row = connection.exec_driver_sql(statement.sql, values).one()
        return dict(zip(statement.keys, row, strict=True)), fleet.as_of()


def _answer_response(
    question: CompiledQuestion, answer: Any, as_of: AsOf | None, instances: tuple[ServerInstance, ...] = ()
) -> Response:
    """Encode an answer as the response to a document with this one field."""
    return Response(
        b'{"data":{' + orjson.dumps(question.key) + b":" + question.json(answer, instances) + b"}}", as_of=as_of
    )


def _nest_error(key: str, error: GraphQLError) -> GraphQLError:
    """Prefix an error's path with the key of the enclosing field."""
    path = [key, *(error.path or ())]
    return GraphQLError(error.message, error.nodes, path=path, original_error=error.original_error)


def _merge_data(plan: OperationPlan, compiled_json: Mapping[str, str], resolved: Mapping[str, Any]) -> bytes:
    """Merge compiled JSON and resolved data in document order."""
    members = (
        f'"{key}":'.encode() + (compiled_json[key].encode() if key in compiled_json else orjson.dumps(resolved[key]))
        for key in plan.roots
    )
    return b'{"data":{' + b",".join(members) + b"}}"


def _keyword_dialect(fleet: BaseFleet) -> Any:
    """Return the dialect of the fleet's database, with named parameters."""
    if fleet.engine.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415 # not needed on PostgreSQL

        return sqlite.dialect(paramstyle="named")
    return fleet.engine.dialect
