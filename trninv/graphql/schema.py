"""Build the schema from the table of fields, the routing questions and the mutations."""

from functools import lru_cache

import strawberry
from strawberry.schema.config import StrawberryConfig

from trninv.graphql.mutations import Mutation
from trninv.graphql.queries import Query
from trninv.graphql.scalars import SCALARS
from trninv.graphql.subscriptions import Subscription
from trninv.graphql.things import INVENTORY_TYPES


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
