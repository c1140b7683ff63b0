"""Build the schema, and define the Subscription type."""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from functools import lru_cache
from typing import Annotated, Any, Final

import orjson
import strawberry
from graphql import DocumentNode, ExecutionResult, GraphQLSchema, execute
from strawberry.schema.config import StrawberryConfig

from trninv.errors import InternalError
from trninv.graphql.document_cache import Operation
from trninv.graphql.inventory_types import INVENTORY_TYPES, to_object
from trninv.graphql.mutations import Mutation
from trninv.graphql.query_root import Query
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import SCALARS, Address
from trninv.history.events import Event
from trninv.inventory.state.condition import Condition

_MAX_CACHED_EVENTS: Final = 64
"""Serialized events that are cached per document."""


@strawberry.type(description="Stream events as they happen: POST with Accept: text/event-stream.")
class Subscription:
    @strawberry.subscription(
        description="Changes of states, allocations and cordons, from now on or after the event in Last-Event-ID."
    )
    async def changes(
        self,
        info: AppInfo,  # noqa: ARG002 # strawberry's
        scope: Annotated[  # noqa: ARG002 # the service filters by scope
            Address | None,
            strawberry.argument(description="Only events in this place and on links that end there."),
        ] = None,
    ) -> AsyncGenerator[Annotated["Event", strawberry.lazy("trninv.graphql.inventory_types")], None]:
        raise InternalError("subscriptions are answered by the service")
        yield


class EventSerializer:
    """Executes a subscription's document for each event; shared by all clients with the same document."""

    def __init__(self, schema: GraphQLSchema, operation: Operation, values: dict[str, Any]) -> None:
        self._schema, self._values = schema, values
        self._document = DocumentNode(definitions=(operation.node, *operation.fragments.values()))
        self._cache = OrderedDict[int, bytes]()

    def serialize(self, event: Event) -> bytes:
        """Return the JSON response for an event."""
        if (content := self._cache.get(event.event)) is None:
            content = self._cache[event.event] = self._execute(event)
            if len(self._cache) > _MAX_CACHED_EVENTS:
                self._cache.popitem(last=False)
        return content

    def _execute(self, event: Event) -> bytes:
        row = {name: getattr(event, name) for name in Event.__slots__}
        before, after = (condition or Condition("") for condition in (event.before, event.after))
        row |= {"id": event.event, "before": before.state or None, "factor_before": before.factor_ppm}
        row |= {"after": after.state or None, "factor": after.factor_ppm}
        result = execute(self._schema, self._document, to_object("event", row), variable_values=self._values)
        assert isinstance(result, ExecutionResult)
        return orjson.dumps(result.formatted)


@lru_cache(maxsize=1)
def schema() -> strawberry.Schema:
    """Return the schema, built once per process."""
    return strawberry.Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=list(INVENTORY_TYPES.values()),
        config=StrawberryConfig(scalar_map=SCALARS),
    )
