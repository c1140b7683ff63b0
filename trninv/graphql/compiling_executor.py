"""Execute the root fields of a document one by one, with everything below them written by the compiler.

A root field that compiles to SQL runs its own statement, a question runs its own plan, and an `ObjectSerializer` writes
what any other resolver returns. graphql-core takes the resulting JSON as complete, and does not descend into it.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from graphql import Executor, GraphQLOutputType, get_named_type, is_leaf_type
from orjson import Fragment
from sqlalchemy import Connection

from trninv.graphql.compiler import CompiledQuestion
from trninv.graphql.compiler.object_serializer import ObjectSerializer
from trninv.graphql.compiler.operation import root_plan
from trninv.graphql.compiler.statement_plan import DocumentParts
from trninv.graphql.document_cache import boolean_values, get_or_compute
from trninv.graphql.question_fields import ScenarioType
from trninv.graphql.request_context import CoreInfo

P = TypeVar("P")
_MAX_PLANS: Final = 256
"""Maximum number of cached plans of an operation's fields; an operation cannot have as many root fields."""


class CompilingExecutor(Executor[Any]):
    """graphql-core's executor for root fields; the compiler writes their values."""

    def complete_value(
        self,
        return_type: GraphQLOutputType,
        field_details_list: Any,
        info: CoreInfo,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Complete the value of a field.

        graphql-core lets callers pass an executor but documents this method as private. It has no other way to return
        JSON for a field with selections: it would resolve each of them.
        """
        if isinstance(result, Fragment):
            return result
        value_type = get_named_type(return_type)
        # graphql-core descends into introspection types, and into scenarios, whose fields are questions
        if (
            result is None
            or is_leaf_type(value_type)
            or value_type.name[:2] == "__"
            or isinstance(result, ScenarioType)
        ):
            return super().complete_value(return_type, field_details_list, info, path, result, position_context)
        return _write(info, result)


async def resolve_compiled(_source: object, info: CoreInfo, **_arguments: object) -> Fragment:
    """Resolve a root field that compiles to SQL."""

    def read(connection: Connection) -> Fragment:
        plan = _plan(info, lambda document: root_plan(document, {info.field_name: info.field_nodes}))
        ((json,),) = plan.fetch(connection, info.variable_values)
        return Fragment(json)

    return await info.context.read(read)


async def resolve_question(source: object, info: CoreInfo, **_arguments: object) -> Fragment:
    """Resolve a question, in a scenario if it is a scenario's field."""
    fleet = source.fleet if isinstance(source, ScenarioType) else info.context.fleet

    def create(document: DocumentParts) -> CompiledQuestion:
        definition = info.parent_type.fields[info.field_name]
        return CompiledQuestion(document, definition, info.field_nodes, info.variable_values)

    def ask() -> Fragment:
        return Fragment(_plan(info, create).ask(fleet, info.variable_values))

    return await info.context.ask(ask)


def _write(info: CoreInfo, value: object) -> Any:
    """Write an object, in a thread if it is large or refers to rows."""
    context = info.context

    def create(document: DocumentParts) -> ObjectSerializer:
        return ObjectSerializer(document, info.return_type, info.field_nodes, info.variable_values)

    def write() -> Fragment:
        return Fragment(serializer.read_json(value, context.fleet, info.variable_values))

    serializer = _plan(info, create)
    if serializer.asks:
        return context.threads.routing.run(write)
    if serializer.is_late:
        return context.threads.reading.run(write)
    return context.threads.preparing.run(write) if context.is_large else write()


def _plan(info: CoreInfo, create: Callable[[DocumentParts], P]) -> P:
    """Return the plan of a field, cached by the ids of its nodes, which are unique while the operation exists."""
    key = tuple(map(id, info.field_nodes)), boolean_values(info.variable_values)
    return get_or_compute(
        info.context.plans, key, lambda: create(DocumentParts(info.schema, info.fragments)), _MAX_PLANS
    )
