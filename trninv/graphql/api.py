"""Run GraphQL requests: parse, validate and price the document, then answer it.

The service creates one `Api` and calls `run` for each query or mutation, `subscribe` for each subscription. A document
runs in one of two ways. If it compiles as a whole, its plan writes the response, either from one SQL statement
(`_run_statement`) or from the answer to a single routing question (`_answer_question`). Otherwise graphql-core executes
it (`_execute`), and the resolvers of its root fields use the same compiler.
"""

from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
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
from trninv.database.revision import revision_id
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
)
from trninv.graphql import graphql_schema
from trninv.graphql.compiler import CompiledQuestion
from trninv.graphql.compiler.statement_plan import CompiledStatement, StatementPlan
from trninv.graphql.compiling_executor import CompilingExecutor
from trninv.graphql.document_cache import DocumentCache, Operation
from trninv.graphql.document_request import PreparedOperation, Request, RequestRefused, refuse_errors
from trninv.graphql.graphql_schema import EventSerializer
from trninv.graphql.list_arguments import AddressTest
from trninv.graphql.request_context import RequestContext, ThreadPools
from trninv.graphql.response_cache import Key, ResponseCache, request_key
from trninv.graphql.responses import (
    Response,
    failed_response,
    format_error,
    internal_cause,
    refused_response,
    root_cause,
)
from trninv.graphql.revision_probe import RevisionProbe
from trninv.graphql.statement_runner import StatementRunner
from trninv.graphql.sweep_runner import SweepRunner
from trninv.inventory.state.observation_commits import ObservationCommits
from trninv.routing.fleet import BaseFleet
from trninv.routing.read_replicas import ReadReplicas
from trninv.settings import Settings

MAX_INLINE_OBJECTS = 250
"""Responses with more objects, or to requests with more values in variables, are built off the event loop."""
MAX_CACHED_INLINE_OBJECTS = 4_000
"""A cached answer with at most this many objects (lists at their maximum length) is encoded on the event loop."""
MAX_INLINE_VARIABLES = 16
"""Requests with more variables, or with lists or objects in them, are prepared in a worker thread."""
TIMEOUT_GRACE = 0.2
"""Grace period in seconds for a late task to report its own timeout."""


class Api:
    """GraphQL API of a fleet; one per process."""

    def __init__(
        self,
        fleet: BaseFleet,
        settings: Settings,
        readers: ReadReplicas | None = None,
        sweeps: SweepRunner | None = None,
    ) -> None:
        self.fleet, self.settings, self.threads, self._sweeps = fleet, settings, ThreadPools(), sweeps
        self._schema = graphql_schema.core_schema(graphql_schema.schema())
        self.documents = DocumentCache(
            self._schema,
            settings.documents,
            persisted_only=settings.persisted_only,
            introspection=settings.introspection,
        )
        self._readers = readers or ReadReplicas(fleet)
        self._responses = ResponseCache()
        self.observation_commits = ObservationCommits(fleet.revision_tracker)
        self._revision_probe = RevisionProbe(fleet.revision_tracker, self.threads.reading)
        self._serializers = WeakValueDictionary[Hashable, EventSerializer]()
        self._statement_runners = {
            readable_fleet: StatementRunner(readable_fleet.revision_tracker)
            for readable_fleet in {fleet, *self._readers.fleets}
        }

    async def run(
        self,
        request: Request,
        *,
        reads_only: bool = False,
        who: str = "",
        scope: str = "admin",
        reference: str = "",
        revision: Hashable | None = None,
        prepared: PreparedOperation | None = None,
    ) -> Response:
        """Run a request and return its response; expected failures are responses too.

        Parameters
        ----------
        reads_only
            Whether to refuse mutations.
        who, scope
            Name and scope of the client's token.
        reference
            Id of the request, which the client sees in place of internal errors.
        revision
            The database's revision, if the caller has read it since the request arrived.
        prepared
            The operation, if `run_inline` has prepared it and could not answer it.

        """
        with deadline.time_limit(self.settings.request_seconds) as clock:
            try:
                if prepared is None:
                    inline = await self.run_inline(
                        request, reads_only=reads_only, scope=scope, reference=reference, revision=revision
                    )
                    if isinstance(inline, Response):
                        return inline
                    prepared = inline
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
        return self._finish(response, prepared, request_key(request, scope)) if prepared else response

    async def run_inline(
        self,
        request: Request,
        *,
        reads_only: bool = False,
        scope: str = "admin",
        reference: str = "",
        revision: Hashable | None = None,
    ) -> Response | PreparedOperation | None:
        """Answer a request on the event loop if that takes little, from a cache or by a small statement.

        Otherwise, return the prepared operation, or None if preparing it takes long, for `run`.

        Parameters
        ----------
        revision
            The database's revision, if the caller has read it since the request arrived.

        """
        key = request_key(request, scope)
        try:
            if key is not None and key in self._responses:
                revision = revision or await self.current_revision()
                if cached := self._responses.get(key, AsOf.latest(revision), self._states(revision)):
                    return self._add_extensions(cached)
            prepared = self._prepare_inline(request, scope, reads_only)
        except RequestRefused as refusal:
            return refusal.response
        if prepared is None or request.as_of is not None:
            return prepared
        if prepared.plan.question:
            response = await self._cached_answer(prepared.plan.question, prepared, reference, revision)
        elif prepared.plan.statement and not prepared.is_large:
            response = self._run_small_statement(prepared.plan.statement, prepared)
        else:
            response = None
        return self._finish(response, prepared, key) if response else prepared

    def _finish(self, response: Response, prepared: PreparedOperation, key: Key | None) -> Response:
        """Cache a response, and return it with its cost and extensions."""
        response.cost = prepared.cost.value
        if key is not None:
            self._responses.add(key, response)
        return self._add_extensions(response)

    async def current_revision(self) -> Hashable | None:
        """Return the database's revision, or None if it is unknown."""
        revision = self.fleet.revision_tracker.current_if_cheap()
        return await self._revision_probe.current() if revision is None else revision

    def _states(self, revision: Hashable | None) -> set[str]:
        """Return the ids of the states that the database has at a revision."""
        return set(filter(None, map(revision_id, (revision, self.observation_commits.key(revision)))))

    async def subscribe(self, request: Request) -> tuple[EventSerializer, str | None] | Response:
        """Return a subscription's event serializer and its scope, or the response that refuses the subscription.

        The scope is the place whose events it delivers, or None for the whole fleet.
        """
        with deadline.time_limit(self.settings.request_seconds):
            try:
                return await self.threads.preparing.run(self._prepare_subscription, request)
            except RequestRefused as refusal:
                return refusal.response
            except BusyError as error:
                return refused_response(error)

    def _prepare_subscription(self, request: Request) -> tuple[EventSerializer, str | None]:
        with refuse_errors():
            text, operation = self._find_operation(request)
            if not operation.is_subscription:
                raise RequestError("Accept: text/event-stream is for subscriptions; use application/json")
            if request.as_of is not None:
                raise RequestError("a subscription delivers future events; remove at")
            variables = operation.variables(request.variables)
            operation.cost(variables).check(self.settings.max_cost)
            ((field, *_),) = operation.plan_for(variables).roots.values()  # validation allows one root field only
            scope = operation.argument(field, "scope", variables)
            key = text, operation.node.name and operation.node.name.value, orjson.dumps(request.variables)
            serializer = self._serializers.get(key) or self._serializers.setdefault(
                key, EventSerializer(operation, variables)
            )
            return serializer, None if scope is None else str(scope)

    async def _prepare_in_thread(self, request: Request, scope: str, reads_only: bool) -> PreparedOperation:
        return await self.threads.preparing.run(self._prepare, request, scope, reads_only)

    def _prepare_inline(self, request: Request, scope: str, reads_only: bool) -> PreparedOperation | None:
        """Prepare a request on the event loop if that is fast; else return None.

        It is fast if the request has its document's text and few variables, none of them a list or an object, and the
        document, its cost and its plan are cached.
        """
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

    def _prepare(self, request: Request, scope: str, reads_only: bool) -> PreparedOperation:
        """Prepare a request; parsing and validation are slow, so call it in a thread."""
        with refuse_errors():
            return self._price(request, *self._parse_operation(request, scope, reads_only))

    def _parse_operation(self, request: Request, scope: str, reads_only: bool) -> tuple[Operation, VariableValues]:
        _, operation = self._find_operation(request)
        if operation.is_subscription:
            raise RequestError("a subscription is a stream; POST it with Accept: text/event-stream")
        if not operation.is_query and request.as_of is not None:
            raise RequestError("the past cannot be changed; send the mutation without at")
        if not operation.is_query and reads_only:
            raise MethodError("GET only reads; send a mutation by POST")
        for name, required in operation.required_scopes().items():
            if required not in TOKEN_SCOPES_ALLOWED[scope]:
                raise ForbiddenError(f"{name} needs a token of scope {required}")
        return operation, operation.variables(request.variables)

    def _find_operation(self, request: Request) -> tuple[str, Operation]:
        """Return the text of a request's document and the operation to run."""
        text = self.documents.persisted_text(request.document) if request.document is not None else request.query or ""
        return text, self.documents.operation(text, request.operation)

    def _price(self, request: Request, operation: Operation, variables: VariableValues) -> PreparedOperation:
        """Check the operation's cost, and return the prepared operation with its cost and plan."""
        cost = operation.cost(variables)
        cost.check(self.settings.max_cost)
        plan = operation.plan_for(variables)
        is_large = (
            cost.objects > MAX_INLINE_OBJECTS
            or characters.count_values(request.variables) > MAX_INLINE_OBJECTS
            or plan.introspects
        )
        return PreparedOperation(operation, variables, cost, plan, is_large)

    def _add_extensions(self, response: Response) -> Response:
        """Return the response with its cost, the time and revision read, and the clusters without data at that time."""
        cost_json = {"cost": {"spent": response.cost, "limit": self.settings.max_cost}}
        as_of_json = {"asOf": response.as_of.fields()} if response.as_of else {}
        omitted_json = {"omittedClusters": omitted} if (omitted := response.omitted_clusters()) else {}
        extensions = orjson.dumps(cost_json | as_of_json | omitted_json)
        return response.with_body(response.body[:-1] + b',"extensions":' + extensions + b"}")

    async def _respond(
        self, prepared: PreparedOperation, request: Request, who_and_scope: tuple[str, str], reference: str
    ) -> Response:
        """Answer a prepared operation, compiled as a whole if possible."""
        if request.as_of is None and prepared.plan.question:
            return await self._answer_question(prepared.plan.question, prepared, reference)
        if request.as_of is None and prepared.plan.statement:
            try:
                return await self.threads.reading.run(self._run_statement, prepared.plan.statement, prepared)
            except (BusyError, DatabaseError, TimeLimitError):
                raise
            except (TrninvError, GraphQLError):  # an argument is wrong: execute field by field, which reports where
                pass
        return await self._execute(prepared, request, who_and_scope, reference)

    async def _execute(
        self, prepared: PreparedOperation, request: Request, who_and_scope: tuple[str, str], reference: str
    ) -> Response:
        """Execute a prepared operation field by field, each asOf field at its time."""
        plan, as_of_by_key = prepared.plan, dict[str, AsOf | None]()
        fleet = self.fleet if request.as_of is None else await self.threads.reading.run(self.fleet.at, request.as_of)
        current_nodes = [node for nodes in plan.current_roots.values() for node in nodes]
        execution, as_of = await self._execute_on(fleet, prepared, current_nodes, request, who_and_scope)
        data, errors_raised = execution.data, list(execution.errors or ())
        if data is not None:
            for key, nodes in plan.as_of_roots.items():
                data[key], nested_errors, as_of_by_key[key] = await self._execute_as_of(
                    prepared, nodes, request, who_and_scope
                )
                errors_raised += [_nest_error(key, error) for error in nested_errors]
            data = {key: data[key] for key in plan.roots}
        errors = [self._mask_error(error, reference) for error in errors_raised]
        return Response(
            orjson.dumps({"data": data, "errors": errors} if errors else {"data": data}),
            code=errors[0]["extensions"]["code"] if errors else None,
            as_of=as_of,
            as_of_by_key=as_of_by_key,
            failures=tuple(filter(None, map(internal_cause, errors_raised))),
        )

    async def _cached_answer(
        self, question: CompiledQuestion, prepared: PreparedOperation, reference: str, revision: Hashable | None
    ) -> Response | None:
        """Return the response to a question, without blocking, if its answer is cached or asking it fails; else None.

        Questions whose answer refers to rows, or with large answers, are left to `_answer_question`.
        """
        if (
            question.question.answer_from_cache is None
            or question.serializer.is_late
            or prepared.cost.objects > MAX_CACHED_INLINE_OBJECTS
            or (revision := revision or await self.current_revision()) is None
        ):
            return None
        try:
            cached = self.fleet.cached_answer(
                question.question, cached_revision=revision, **question.values(prepared.variables)
            )
            return cached and _answer_response(question, question.serializer.json(cached[0]), cached[1])
        except Exception as error:  # noqa: BLE001 # any error belongs to this field
            return self._failed_answer(question, error, None, reference)

    async def _answer_question(
        self, question: CompiledQuestion, prepared: PreparedOperation, reference: str
    ) -> Response:
        """Answer a question in a thread, from the cache if possible."""
        as_of: AsOf | None = None

        def compute() -> Response:
            nonlocal as_of
            if not question.serializer.is_late:
                values = question.values(prepared.variables)
                if cached := self.fleet.cached_answer(question.question, **values):
                    return _answer_response(question, question.serializer.json(cached[0]), cached[1])
            with self.fleet.snapshot() as snapshot:
                try:
                    answer_json = question.ask(snapshot, prepared.variables)
                    return _answer_response(question, answer_json, snapshot.as_of())
                finally:
                    as_of = snapshot.as_of()

        try:
            return await self.threads.routing.run(compute)
        except Exception as error:  # noqa: BLE001 # any error belongs to this field
            return self._failed_answer(question, error, as_of, reference)

    def _failed_answer(
        self, question: CompiledQuestion, error: Exception, as_of: AsOf | None, reference: str
    ) -> Response:
        """Return the response to a failed question, as graphql-core's executor would."""
        graphql_error = located_error(error, question.nodes, [question.key])
        message, failure = self._mask_error(graphql_error, reference), internal_cause(graphql_error)
        body = orjson.dumps({"data": None, "errors": [message]})
        return Response(body, code=message["extensions"]["code"], as_of=as_of, failures=(failure,) if failure else ())

    async def _execute_as_of(
        self, prepared: PreparedOperation, nodes: Sequence[FieldNode], request: Request, who_and_scope: tuple[str, str]
    ) -> tuple[Any, list[GraphQLError], AsOf | None]:
        """Execute the selections of an asOf field at its time; return their data and errors, and the revision read."""
        time = prepared.operation.argument(nodes[0], "time", prepared.variables)
        try:
            earlier_fleet = await self.threads.reading.run(self.fleet.at, str(time))
        except InvalidTimeError as error:
            return None, [GraphQLError(str(error), nodes, original_error=error)], None
        selections = [
            node for field_node in nodes if field_node.selection_set for node in field_node.selection_set.selections
        ]
        execution, as_of = await self._execute_on(earlier_fleet, prepared, selections, request, who_and_scope)
        return execution.data, list(execution.errors or ()), as_of

    async def _execute_on(
        self,
        fleet: BaseFleet,
        prepared: PreparedOperation,
        selections: Sequence[SelectionNode],
        request: Request,
        who_and_scope: tuple[str, str],
    ) -> tuple[ExecutionResult, AsOf | None]:
        """Execute some of the operation's root selections on a snapshot; return their result and the revision read."""
        snapshot = fleet.snapshot()
        context = RequestContext(
            snapshot,
            self.settings,
            self.threads,
            prepared.operation.field_plans,
            *who_and_scope,
            is_large=prepared.is_large,
        )
        context.sweeps = self._sweeps
        context.login = self._readers.logins.get(self.fleet.engine)
        async with self._closing_snapshot(snapshot):
            execution = await self._execute_selections(prepared, selections, request, context)
        return execution, snapshot.as_of()

    @asynccontextmanager
    async def _closing_snapshot(self, snapshot: BaseFleet) -> AsyncIterator[None]:
        """Wait for one of the snapshot slots, and close the snapshot on exit, even if the request is cancelled."""
        async with self.threads.snapshots.slot():
            try:
                yield
            finally:
                with CancelScope(shield=True):
                    await to_thread.run_sync(snapshot.close)

    def _run_small_statement(self, plan: StatementPlan, prepared: PreparedOperation) -> Response | None:
        """Run the statement of a whole operation on the event loop; return None if it may take long or fails."""
        try:
            statement, parameters = plan.statement_for(self.fleet.engine.dialect, prepared.variables)
        except (TrninvError, GraphQLError):  # `_respond` reports the error
            return None
        if any(isinstance(value, AddressTest) for value in parameters.values()):
            return None
        result = self._statement_runners[self.fleet].fetch_small_row(statement.sql, parameters)
        if result is None:
            return None
        values, revision = result
        return self._statement_response(statement, prepared.plan.roots, values, AsOf.latest(revision), revision)

    def _run_statement(self, plan: StatementPlan, prepared: PreparedOperation) -> Response:
        """Run the statement of a whole operation on the latest state, and write the response."""
        statement, parameters = plan.statement_for(self.fleet.engine.dialect, prepared.variables)

        def run(fleet: BaseFleet) -> tuple[Sequence[str], AsOf | None, Hashable | None]:
            if not any(isinstance(value, AddressTest) for value in parameters.values()):
                row, revision = self._statement_runners[fleet].fetch_row(statement.sql, parameters)
                return row, AsOf.latest(revision), revision
            # resolving addresses takes further statements, which must read the same snapshot
            with fleet.snapshot() as snapshot, snapshot.connect() as connection:
                (row,) = plan.fetch(connection, prepared.variables)
                return row, snapshot.as_of(), None

        values, as_of, revision = self._readers.read(run)
        return self._statement_response(statement, prepared.plan.roots, values, as_of, revision)

    def _statement_response(
        self,
        statement: CompiledStatement,
        keys: Iterable[str],
        values: Iterable[str],
        as_of: AsOf | None,
        revision: Hashable | None,
    ) -> Response:
        """Return the response to a document, from the JSON of each root field."""
        members = (f'"{key}":{value}' for key, value in zip(keys, values, strict=True))
        body = f'{{"data":{{{",".join(members)}}}}}'.encode()
        state = as_of.revision if as_of else None
        if revision is not None and not statement.reads_observations:
            state = revision_id(self.observation_commits.key(revision))
        return Response(body, as_of=as_of, reads_clock=statement.reads_clock, state=state)

    async def _execute_selections(
        self,
        prepared: PreparedOperation,
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

        start = partial(
            execute,
            self._schema,
            document,
            context_value=context,
            variable_values=request.variables,
            executor_class=CompilingExecutor,
            hide_suggestions=not self.settings.introspection,
        )
        # variables are coerced and introspection is resolved before anything is awaited
        result = await self.threads.preparing.run(start) if prepared.is_large else start()
        return result if isinstance(result, ExecutionResult) else await result

    def _mask_error(self, error: GraphQLError, reference: str) -> dict[str, Any]:
        return {**error.formatted, **format_error(root_cause(error), reference)}


def _answer_response(question: CompiledQuestion, answer_json: bytes, as_of: AsOf | None) -> Response:
    """Return the response to a document whose only field is the question."""
    body = b'{"data":{' + orjson.dumps(question.key) + b":" + answer_json + b"}}"
    state = as_of.revision if as_of else None
    return Response(body, as_of=as_of, reads_clock=question.question.reads_clock, state=state)


def _nest_error(key: str, error: GraphQLError) -> GraphQLError:
    """Prefix an error's path with the key of the enclosing field."""
    path = [key, *(error.path or ())]
    return GraphQLError(error.message, error.nodes, path=path, original_error=error.original_error)
