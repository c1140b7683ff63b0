"""The Mutation type: what operators set. Every change is kept with who made it and why."""

from enum import Enum
from typing import Annotated

import strawberry
from sqlalchemy import Engine

from trninv.graphql.context import AppInfo
from trninv.graphql.scalars import Address
from trninv.inventory.database import writing
from trninv.inventory.state import PPM, Change, Condition, set_state


@strawberry.enum(description="What traffic something carries.")
class State(Enum):
    UP = "up"
    DEGRADED = "degraded"
    DOWN = "down"
    MAINTENANCE = "maintenance"


@strawberry.type(description="A change of state.")
class StateChange:
    change: strawberry.Private[Change]

    @strawberry.field(description="What it is of.")
    def address(self) -> Address:
        return Address(self.change.address)

    @strawberry.field(description="The state before.")
    def before(self) -> State:
        return State(self.change.before.state)

    @strawberry.field(description="The state now.")
    def after(self) -> State:
        return State(self.change.after.state)

    @strawberry.field(description="The part that it still carries, of what is degraded.")
    def factor(self) -> float | None:
        millionths = self.change.after.factor_ppm
        return None if millionths is None else millionths / PPM


@strawberry.type(description="Change what the inventory says; needs a token of scope operate where tokens are on.")
class Mutation:
    @strawberry.mutation(
        description="Give servers, chips, switches, NICs, network nodes and links a state; the changes, all or none."
    )
    async def set_state(
        self,
        info: AppInfo,
        addresses: Annotated[list[Address], strawberry.argument(description="What to change.")],
        state: Annotated[State, strawberry.argument(description="What it is from now on.")],
        why: Annotated[str, strawberry.argument(description="The reason, kept with the change.")],
        factor: Annotated[
            float | None, strawberry.argument(description="Of DEGRADED: the part that still carries.")
        ] = None,
        who: Annotated[
            str | None, strawberry.argument(description="Who says so; the token's name if there is one.")
        ] = None,
    ) -> list[StateChange]:
        condition = Condition.of(state.value, factor)
        by = info.context.who or who or ""

        def change() -> list[Change]:
            return _changed(info.context.fleet.engine, [str(each) for each in addresses], condition, why, by)

        return [StateChange(change=made) for made in await info.context.write(change)]


def _changed(engine: Engine, addresses: list[str], condition: Condition, why: str, who: str) -> list[Change]:
    with writing(engine) as connection:
        return set_state(connection, addresses, condition, why=why, who=who)
