"""Which instance stands in which slot: the list of bindings, and the mutations that make and end one."""

from collections.abc import Mapping
from typing import Any

import strawberry
from sqlalchemy import Connection, Engine

from trninv.graphql.context import AppInfo
from trninv.graphql.enums import BindingEnding, BindingHow, Confidence
from trninv.graphql.pages import Offered
from trninv.graphql.scalars import Address
from trninv.inventory import binding
from trninv.inventory.address import resolve
from trninv.inventory.database import writing
from trninv.live.pins import pin

WHO = (
    "Who says so, where the service asks for no token. With a token it is the token's name: leave this out, for any "
    "other name is refused."
)
MUTATION_ID = "Any text; the payload gives it back unchanged."
SAME_ID = "The text of the input, unchanged."


@strawberry.type(description="That an instance stands in a slot, which is a server of the design.")
class Binding:
    slot: Address = strawberry.field(description="Address of the server.")
    instance: str | None = strawberry.field(description="The instance's id; null where only its host is known.")
    host: str | None = strawberry.field(description="The name of its host, where that is known.")
    since: str = strawberry.field(description="Since when it is bound (UTC).")
    until: str | None = strawberry.field(description="When that ended (UTC); null while it stands there.")
    how: Any = strawberry.field(description="How it is known.", graphql_type=BindingHow)
    confidence: Any = strawberry.field(description="How sure it is.", graphql_type=Confidence)
    evidence: str | None = strawberry.field(description="What an inference rests on, for people.")
    who: str = strawberry.field(description="Who bound it.")
    ending: Any = strawberry.field(description="Why it ended.", graphql_type=BindingEnding | None)
    ended_by: str | None = strawberry.field(description="Who ended it.")

    @classmethod
    def of(cls, found: binding.Binding) -> "Binding":
        """A row."""
        alike = ("instance", "host", "since", "until", "evidence", "who", "ended_by")
        return cls(
            slot=Address(found.address),
            how=BindingHow(found.how),
            confidence=Confidence(found.confidence),
            ending=None if found.ending is None else BindingEnding(found.ending),
            **{name: getattr(found, name) for name in alike},
        )


OFFERED: tuple[Offered, ...] = (
    ("scope", Address, "Only those of this server, rack, domain or cluster."),
    ("ended", bool, "Whether to list those that are over too."),
)


def cursor(of: Binding) -> str:
    """What tells a binding from all others."""
    return " ".join(filter(None, (of.slot, of.since, of.instance, of.host, of.how.value, of.until)))


async def found(_: object, info: AppInfo, given: Mapping[str, Any]) -> list[Binding]:
    """The bindings that arguments ask for, in the order of their slots.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError

    """
    return await info.context.read(_found, given.get("scope"), bool(given.get("ended")))


def _found(connection: Connection, scope: str | None, ended: bool) -> list[Binding]:
    place = None if scope is None else resolve(connection, scope)
    return [Binding.of(each) for each in binding.bindings(connection, place, ended=ended)]


@strawberry.input(description="An instance for a slot.")
class BindInput:
    slot: Address = strawberry.field(description="The server of the design.")
    instance: str = strawberry.field(description="The instance's id, or the name of its host.")
    who: str | None = strawberry.field(default=None, description=WHO)
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID)


@strawberry.type(description="What bind did.")
class BindPayload:
    made: list[Binding] = strawberry.field(description="The new binding; none where it was so already.")
    ended: list[Binding] = strawberry.field(
        description="What that ended: what stood in the slot, and where the instance stood."
    )
    client_mutation_id: str | None = strawberry.field(description=SAME_ID)


@strawberry.input(description="A slot that is to be empty.")
class UnbindInput:
    slot: Address = strawberry.field(description="The server of the design.")
    who: str | None = strawberry.field(default=None, description=WHO)
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID)


@strawberry.type(description="What unbind did.")
class UnbindPayload:
    ended: Binding = strawberry.field(description="What stood there.")
    client_mutation_id: str | None = strawberry.field(description=SAME_ID)


def bind(engine: Engine, given: BindInput, who: str) -> BindPayload:
    """Put an instance into a slot."""
    with writing(engine) as connection:
        bound = binding.put(connection, [pin(connection, given.slot, given.instance)], who=who)
    made, ended = (list(map(Binding.of, each)) for each in (bound.made, bound.ended))
    return BindPayload(made=made, ended=ended, client_mutation_id=given.client_mutation_id)


def unbind(engine: Engine, given: UnbindInput, who: str) -> UnbindPayload:
    """Take what stands in a slot out of it."""
    with writing(engine) as connection:
        ended = binding.take_out(connection, given.slot, who=who)
    return UnbindPayload(ended=Binding.of(ended), client_mutation_id=given.client_mutation_id)
