"""Build the GraphQL schema, and define subscriptions: their type, and the JSON of their events.

`Api` executes requests against the schema. `trninv schema` prints it, and the service streams subscriptions.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Annotated, Any, Final

import orjson
import strawberry
from graphql import GraphQLSchema, is_object_type
from graphql.execution.values import VariableValues
from orjson import Fragment
from strawberry.schema.config import StrawberryConfig
from strawberry.utils.str_converters import to_snake_case

from trninv.errors import InternalError
from trninv.graphql.compiler.object_serializer import ObjectSerializer
from trninv.graphql.compiler.selections import field_metadata
from trninv.graphql.compiler.statement_plan import DocumentParts
from trninv.graphql.compiling_executor import resolve_compiled, resolve_question
from trninv.graphql.document_cache import Operation
from trninv.graphql.inventory_types import INVENTORY_TYPES
from trninv.graphql.mutations import Mutation
from trninv.graphql.query_root import Query
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import SCALARS, Address
from trninv.history.events import Event

_MAX_CACHED_EVENTS: Final = 64
"""Maximum number of serialized events that are cached for each subscription document."""


@strawberry.type(description="Stream events as they happen: POST with Accept: text/event-stream.")
class Subscription:
    @strawberry.subscription(
        description="Changes of states, allocations and cordons, from now on or after the event in Last-Event-ID."
    )
    async def changes(
        self,
        info: AppInfo,  # noqa: ARG002 # strawberry's signature
        scope: Annotated[  # noqa: ARG002 # the service filters by scope
            Address | None,
            strawberry.argument(description="Only events in this place and on links that end there."),
        ] = None,
    ) -> AsyncGenerator[Annotated["Event", strawberry.lazy("trninv.graphql.inventory_types")], None]:
        raise InternalError("subscriptions work only over HTTP; send this one to a service (trninv serve)")
        yield  # makes this an async generator


class EventSerializer:
    """Writes each event as a subscription's document selects it; shared by all clients with the same document."""

    def __init__(self, operation: Operation, variables: VariableValues) -> None:
        ((self._key, nodes),) = operation.plan_for(variables).roots.items()
        event_type = operation.schema.type_map["Event"]
        assert is_object_type(event_type)
        document = DocumentParts(operation.schema, operation.fragments)
        self._serializer = ObjectSerializer(document, event_type, nodes, variables)
        self._cache = OrderedDict[int, bytes]()

    def serialize(self, event: Event) -> bytes:
        """Return the JSON response for an event."""
        if (content := self._cache.get(event.event)) is None:
            content = self._cache[event.event] = self._write(event)
            if len(self._cache) > _MAX_CACHED_EVENTS:
                self._cache.popitem(last=False)
        return content

    def _write(self, event: Event) -> bytes:
        values = {to_snake_case(name): value for name, value in event.to_json().items()}
        row = SimpleNamespace(id=f"event:{event.event}", **values)
        return orjson.dumps({"data": {self._key: Fragment(self._serializer.json(row))}})


@lru_cache(maxsize=1)
def schema() -> strawberry.Schema:
    """Return the schema, built once per process."""
    built = strawberry.Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=list(INVENTORY_TYPES.values()),
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    for graphql_type in core_schema(built).type_map.values():
        if is_object_type(graphql_type):
            for definition in graphql_type.fields.values():
                definition.resolve = _find_resolver(field_metadata(definition)) or definition.resolve
    return built


def core_schema(built: strawberry.Schema) -> GraphQLSchema:
    """Return graphql-core's schema, which validates and executes documents.

    strawberry has no public name for it, and its own `execute` parses and validates a document at each request.
    """
    return built._schema  # noqa: SLF001


def _find_resolver(metadata: Mapping[str, Any]) -> Any:
    """Return the resolver that a field's metadata requires, or None to keep strawberry's."""
    if "compile" in metadata:
        return resolve_compiled
    return resolve_question if "question" in metadata else metadata.get("resolve")
