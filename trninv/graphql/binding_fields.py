"""Resolve the bindings field and the bind and unbind mutations."""

from collections.abc import Mapping
from typing import Any

import strawberry
from sqlalchemy import Connection, Engine

from trninv.database.engine import write_transaction
from trninv.graphql.enums import BindingEnding, BindingMethod, Confidence
from trninv.graphql.pagination import OptionalArgument
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import Address
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state import bindings
from trninv.reconcile.latest_observations import pinned_binding

WHO_ARGUMENT = (
    "Who makes the change, if the service requires no token. With a token, omit it: the token's name is "
    "recorded, and any other name is refused."
)
MUTATION_ID_ARGUMENT = "Any text; the payload returns it unchanged."
MUTATION_ID_RESULT = "The text from the input, unchanged."


@strawberry.type(name="Binding", description="A slot's link to an instance; the slot is a server of the design.")
class BindingType:
    slot: Address = strawberry.field(description="Address of the server.")
    instance: str | None = strawberry.field(description="Id of the instance; null if only its host is known.")
    host: str | None = strawberry.field(description="Host name, if known.")
    started_at: str = strawberry.field(description="Start of the binding (UTC).")
    ended_at: str | None = strawberry.field(description="End of the binding (UTC); null while it lasts.")
    method: Any = strawberry.field(description="How the binding is known.", graphql_type=BindingMethod)
    confidence: Any = strawberry.field(description="Confidence in the binding.", graphql_type=Confidence)
    evidence: str | None = strawberry.field(description="Evidence of an inferred binding, as text.")
    who: str = strawberry.field(description="Who bound it.")
    ending: Any = strawberry.field(description="Why it ended.", graphql_type=BindingEnding | None)
    ended_by: str | None = strawberry.field(description="Who ended it.")

    @classmethod
    def from_row(cls, row: bindings.Binding) -> "BindingType":
        """Convert a binding of the inventory."""
        same_fields = ("instance", "host", "started_at", "ended_at", "evidence", "who", "ended_by")
        return cls(
            slot=Address(row.address),
            method=BindingMethod(row.method),
            confidence=Confidence(row.confidence),
            ending=None if row.ending is None else BindingEnding(row.ending),
            **{name: getattr(row, name) for name in same_fields},
        )


BINDING_ARGUMENTS: tuple[OptionalArgument, ...] = (
    ("scope", Address, "Only bindings in this server, rack, domain or cluster."),
    ("include_ended", bool, "Whether to include bindings that have ended."),
)


def binding_cursor(row: BindingType) -> str:
    """Return the text that identifies a binding in its list."""
    return " ".join(filter(None, (row.slot, row.started_at, row.instance, row.host, row.method.value, row.ended_at)))


async def resolve_bindings(_: object, info: AppInfo, arguments: Mapping[str, Any]) -> list[BindingType]:
    """Return the bindings that match the arguments, ordered by slot."""
    return await info.context.read(_read_bindings, arguments.get("scope"), bool(arguments.get("includeEnded")))


def _read_bindings(connection: Connection, scope: str | None, ended: bool) -> list[BindingType]:
    place = None if scope is None else resolve_place(connection, scope)
    return [BindingType.from_row(row) for row in bindings.list_bindings(connection, place, ended=ended)]


@strawberry.input(description="An instance for a slot.")
class BindInput:
    slot: Address = strawberry.field(description="The slot: a server of the design.")
    instance: str = strawberry.field(description="The instance's id, or the name of its host.")
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.type(description="Result of bind.")
class BindPayload:
    created: list[BindingType] = strawberry.field(
        description="The new binding; null if the instance was already bound to the slot."
    )
    ended: list[BindingType] = strawberry.field(
        description="Bindings that ended: the previous ones of the slot and of the instance."
    )
    client_mutation_id: str | None = strawberry.field(description=MUTATION_ID_RESULT)


@strawberry.input(description="A slot to empty.")
class UnbindInput:
    slot: Address = strawberry.field(description="The slot: a server of the design.")
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.type(description="Result of unbind.")
class UnbindPayload:
    ended: BindingType = strawberry.field(description="The binding that ended.")
    client_mutation_id: str | None = strawberry.field(description=MUTATION_ID_RESULT)


def bind_instance(engine: Engine, bind_input: BindInput, who: str) -> BindPayload:
    """Bind an instance to a slot; conflicting bindings end."""
    with write_transaction(engine) as connection:
        result = bindings.bind(connection, [pinned_binding(connection, bind_input.slot, bind_input.instance)], who=who)
    created, ended = (list(map(BindingType.from_row, group)) for group in (result.created, result.ended))
    return BindPayload(created=created, ended=ended, client_mutation_id=bind_input.client_mutation_id)


def unbind_slot(engine: Engine, unbind_input: UnbindInput, who: str) -> UnbindPayload:
    """End the binding of a slot."""
    with write_transaction(engine) as connection:
        ended = bindings.unbind(connection, unbind_input.slot, who=who)
    return UnbindPayload(ended=BindingType.from_row(ended), client_mutation_id=unbind_input.client_mutation_id)
