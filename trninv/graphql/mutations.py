"""Define the Mutation type; every change is stored with who made it and why."""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Annotated, Any

import strawberry
from sqlalchemy import Engine

from trninv.database.engine import write_transaction
from trninv.errors import ForbiddenError
from trninv.graphql import binding_fields
from trninv.graphql.answer_types import answer_type
from trninv.graphql.binding_fields import (
    MUTATION_ID_ARGUMENT,
    MUTATION_ID_RESULT,
    WHO_ARGUMENT,
    BindInput,
    BindPayload,
    UnbindInput,
    UnbindPayload,
)
from trninv.graphql.enums import State
from trninv.graphql.inventory_types import LocatedInterface, resolve_addresses
from trninv.graphql.question_fields import declared_arguments
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import Address, list_type
from trninv.graphql.sweep_fields import SweepIdArgument, SweepJobType, sweep_store
from trninv.inventory.state.condition import PPM, Condition
from trninv.inventory.state.state_change import ConditionChange, set_state
from trninv.placement.allocations import job_allocations, server_cordons
from trninv.placement.moves.plan_executor import move_jobs
from trninv.routing.question import ROUTED_COST, SCAN_COST
from trninv.routing.questions import find


@strawberry.type(name="StateChange", description="A change of state.")
class StateChangeType:
    change: strawberry.Private[ConditionChange]
    target: LocatedInterface = strawberry.field(description="The changed part, as it is now.")

    @strawberry.field(description="Address of the changed part.")
    def address(self) -> Address:
        return Address(self.change.address)

    @strawberry.field(description="State before.", graphql_type=State)
    def before(self) -> Enum:
        return State(self.change.before.state)

    @strawberry.field(description="State now.", graphql_type=State)
    def after(self) -> Enum:
        return State(self.change.after.state)

    @strawberry.field(description="Fraction of its bandwidth that a degraded part carries now.")
    def factor(self) -> float | None:
        return _fraction(self.change.after)

    @strawberry.field(description="Fraction of its bandwidth that a degraded part carried before.")
    def factor_before(self) -> float | None:
        return _fraction(self.change.before)


def _fraction(condition: Condition) -> float | None:
    return None if condition.factor_ppm is None else condition.factor_ppm / PPM


@strawberry.input(description="A state for several parts.")
class SetStateInput:
    addresses: list[Address] = strawberry.field(
        description="Servers, chips, switches, NICs, network nodes and links; a server's state cascades to its parts."
    )
    state: Any = strawberry.field(description="Their new state.", graphql_type=State)
    why: str = strawberry.field(description="The reason, stored with each change.")
    factor: float | None = strawberry.field(
        default=None,
        description="Only for DEGRADED: the fraction of bandwidth that is left, more than 0 and less than 1.",
    )
    unchanged_since: int | None = strawberry.field(
        default=None,
        description="Number of the latest event that the client knows (Event.event; 0: none). The mutation is refused "
        "with CONFLICT if one of the parts changed after it.",
    )
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.type(description="Result of setState.")
class SetStatePayload:
    changes: list[StateChangeType] = strawberry.field(
        description="Parts whose state changed, in the order of the input; others are omitted."
    )
    client_mutation_id: str | None = strawberry.field(description=MUTATION_ID_RESULT)


def _start_sweep_field() -> Any:
    """Create the startSweep field with the parameters that the question declares."""
    question = find("sweep")

    async def resolve(info: AppInfo, **arguments: Any) -> SweepJobType:
        return SweepJobType.from_record(await info.context.ask(sweep_store(info).start, **arguments))

    field: Any = strawberry.mutation(
        resolver=resolve,
        description=f"Start a sweep. {question.description} It continues when the client disconnects; sweepJob returns "
        "its progress.",
        graphql_type=SweepJobType,
        metadata={"price": ROUTED_COST},
    )
    field.arguments = declared_arguments(question)
    return field


@strawberry.input(description="Chips to allocate to a job.")
class AllocateInput:
    job: str = strawberry.field(description="Name of the job.")
    places: list[Address] = strawberry.field(description="Chips, servers, racks and domains of one cluster.")
    spares: list[Address] = strawberry.field(default_factory=list, description="Spares to allocate to it.")
    pinned: bool = strawberry.field(default=False, description="Whether move plans leave the job where it is.")
    revision: str | None = strawberry.field(
        default=None, description="Revision of a makeRoom plan: refused with STALE_PLAN if the fleet has changed since."
    )
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    why: str | None = strawberry.field(default=None, description="The reason, stored with the event.")
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.input(description="A job to end.")
class ReleaseInput:
    job: str = strawberry.field(description="Its name, or SYSTEM:ID for a job of another system.")
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    why: str | None = strawberry.field(default=None, description="The reason, stored with the event.")
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.input(description="A move of a job, as planned by makeRoom.")
class MoveInput:
    job: str = strawberry.field(description="Its name.")
    destination: list[Address] = strawberry.field(description="Where it moves: domains, servers or chips.")


@strawberry.input(description="A makeRoom plan to carry out.")
class MoveJobsInput:
    scope: Address = strawberry.field(description="The plan's scope.")
    moves: list[MoveInput] = strawberry.field(description="The plan's moves, in order.")
    revision: str = strawberry.field(
        description="The plan's revision: refused with STALE_PLAN if the fleet has changed since."
    )
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    why: str | None = strawberry.field(default=None, description="The reason, stored with the event.")
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.type(description="Result of moveJobs.")
class MoveJobsPayload:
    jobs: list[Any] = strawberry.field(
        description="The jobs that moved, as they are now, oldest first.",
        graphql_type=list_type(answer_type(job_allocations.Job)),
    )
    client_mutation_id: str | None = strawberry.field(description=MUTATION_ID_RESULT)


@strawberry.type(description="Result of allocate or release.")
class JobPayload:
    job: Any = strawberry.field(description="The job as it is now.", graphql_type=answer_type(job_allocations.Job))
    client_mutation_id: str | None = strawberry.field(description=MUTATION_ID_RESULT)


@strawberry.input(description="Servers to cordon.")
class CordonInput:
    servers: list[Address] = strawberry.field(description="Servers, or racks and domains for all their servers.")
    why: str = strawberry.field(description="The reason, stored with the cordon.")
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.input(description="Servers to uncordon.")
class UncordonInput:
    servers: list[Address] = strawberry.field(description="Servers, or racks and domains for all their servers.")
    who: str | None = strawberry.field(default=None, description=WHO_ARGUMENT)
    why: str | None = strawberry.field(default=None, description="The reason, stored with the event.")
    client_mutation_id: str | None = strawberry.field(default=None, description=MUTATION_ID_ARGUMENT)


@strawberry.type(description="Result of cordon or uncordon.")
class CordonPayload:
    cordons: list[Any] = strawberry.field(
        description="Cordons that started or ended.",
        graphql_type=list_type(answer_type(server_cordons.Cordon)),
    )
    client_mutation_id: str | None = strawberry.field(description=MUTATION_ID_RESULT)


_ChangeInput = AllocateInput | ReleaseInput | MoveJobsInput | CordonInput | UncordonInput


def _write_mutation(description: str) -> Any:
    """Declare a mutation that writes to the database."""
    return strawberry.mutation(description=description, metadata={"price": SCAN_COST})


@strawberry.type(description="Change the inventory; if tokens are on, this needs one of scope operate.")
class Mutation:
    @_write_mutation("Set the state of parts: all of them, or none if one cannot have it.")
    async def set_state(
        self,
        info: AppInfo,
        input: Annotated[SetStateInput, strawberry.argument(description="What to set.")],  # noqa: A002 # Relay's name
    ) -> SetStatePayload:
        condition = Condition.from_user(input.state.value, input.factor)
        who = _acting_user(info.context.who, input.who)

        def set_all() -> list[StateChangeType]:
            return _set_states(info.context.fleet.engine, input, condition, who)

        changes = await info.context.write(set_all)
        return SetStatePayload(changes=changes, client_mutation_id=input.client_mutation_id)

    @_write_mutation("Bind an instance to a slot; earlier bindings of either end.")
    async def bind(
        self,
        info: AppInfo,
        input: Annotated[BindInput, strawberry.argument(description="What to bind.")],  # noqa: A002 # Relay's name
    ) -> BindPayload:
        who = _acting_user(info.context.who, input.who)
        return await info.context.write(partial(binding_fields.bind_instance, info.context.fleet.engine, input, who))

    @_write_mutation("End the binding of a slot; the same observations do not infer it again.")
    async def unbind(
        self,
        info: AppInfo,
        input: Annotated[UnbindInput, strawberry.argument(description="What to unbind.")],  # noqa: A002 # Relay's name
    ) -> UnbindPayload:
        who = _acting_user(info.context.who, input.who)
        return await info.context.write(partial(binding_fields.unbind_slot, info.context.fleet.engine, input, who))

    start_sweep = _start_sweep_field()

    @strawberry.mutation(description="Cancel a sweep after its current failure; null if it does not exist.")
    async def cancel_sweep(self, info: AppInfo, id: SweepIdArgument) -> SweepJobType | None:  # noqa: A002
        record = await info.context.ask(sweep_store(info).cancel, str(id))
        return SweepJobType.from_record(record) if record else None

    @_write_mutation("Allocate chips to a job: all of them, or none. Repeating it changes nothing.")
    async def allocate(
        self,
        info: AppInfo,
        input: Annotated[AllocateInput, strawberry.argument(description="What to allocate.")],  # noqa: A002 # Relay's name
    ) -> JobPayload:
        options = {"spares": input.spares, "pinned": input.pinned, "revision": input.revision}
        job = await _run_change(info, input, job_allocations.allocate, input.job, input.places, **options)
        return JobPayload(job=job, client_mutation_id=input.client_mutation_id)

    @_write_mutation("End a job and release its chips. Repeating it changes nothing.")
    async def release(
        self,
        info: AppInfo,
        input: Annotated[ReleaseInput, strawberry.argument(description="What to release.")],  # noqa: A002 # Relay's name
    ) -> JobPayload:
        job = await _run_change(info, input, job_allocations.release, input.job)
        return JobPayload(job=job, client_mutation_id=input.client_mutation_id)

    @_write_mutation("Carry out a makeRoom plan: all of its moves, or none.")
    async def move_jobs(
        self,
        info: AppInfo,
        input: Annotated[MoveJobsInput, strawberry.argument(description="The plan.")],  # noqa: A002 # Relay's name
    ) -> MoveJobsPayload:
        jobs = await _run_change(info, input, move_jobs, input.scope, input.moves, input.revision)
        return MoveJobsPayload(jobs=jobs, client_mutation_id=input.client_mutation_id)

    @_write_mutation("Cordon servers: they take no new jobs; running jobs continue.")
    async def cordon(
        self,
        info: AppInfo,
        input: Annotated[CordonInput, strawberry.argument(description="What to cordon.")],  # noqa: A002 # Relay's name
    ) -> CordonPayload:
        cordons = await _run_change(info, input, server_cordons.cordon, input.servers)
        return CordonPayload(cordons=cordons, client_mutation_id=input.client_mutation_id)

    @_write_mutation("Uncordon servers: they take new jobs again.")
    async def uncordon(
        self,
        info: AppInfo,
        input: Annotated[UncordonInput, strawberry.argument(description="What to uncordon.")],  # noqa: A002 # Relay's name
    ) -> CordonPayload:
        cordons = await _run_change(info, input, server_cordons.uncordon, input.servers)
        return CordonPayload(cordons=cordons, client_mutation_id=input.client_mutation_id)


async def _run_change(
    info: AppInfo, change_input: _ChangeInput, change: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Run a change in one transaction, with the who and why of its input, and return its result."""
    kwargs |= {"who": _acting_user(info.context.who, change_input.who), "why": change_input.why or "", "source": "api"}

    def run() -> Any:
        with write_transaction(info.context.fleet.engine) as connection:
            return change(connection, *args, **kwargs)

    return await info.context.write(run)


def _acting_user(token_name: str, claimed_user: str | None) -> str:
    """Return who makes a change: the token's name, or the claimed user if tokens are off."""
    if token_name and claimed_user not in (None, token_name):
        raise ForbiddenError(f"who: the token is {token_name}'s, not {claimed_user!r:.40}; omit who")
    return token_name or claimed_user or ""


def _set_states(engine: Engine, change_input: SetStateInput, condition: Condition, who: str) -> list[StateChangeType]:
    last_known_event = change_input.unchanged_since
    with write_transaction(engine) as connection:
        changes = set_state(
            connection,
            change_input.addresses,
            condition,
            why=change_input.why,
            who=who,
            source="api",
            unchanged_since=last_known_event,
        )
        targets = resolve_addresses(connection, (change.address for change in changes))
    return [StateChangeType(change=change, target=target) for change, target in zip(changes, targets, strict=True)]
