"""Define the Mutation type: the declared changes, and the start and cancellation of sweeps."""

from functools import partial
from typing import Any

import strawberry

from trninv.database.tables import TOKEN_SCOPES
from trninv.graphql.change_fields import mutation_fields
from trninv.graphql.question_fields import declared_arguments
from trninv.graphql.request_context import AppInfo
from trninv.graphql.sweep_fields import SweepIdArgument, SweepJobType, sweep_runner
from trninv.graphql.sweep_runner import cancel_sweep
from trninv.remote.remote_method import JOB_SCOPE
from trninv.routing.question import ROUTED_COST
from trninv.routing.questions import find


def _start_sweep_field() -> Any:
    """Create the startSweep field with the parameters of the question `sweep`."""
    question = find("sweep")

    async def resolve(info: AppInfo, **arguments: Any) -> SweepJobType:
        return SweepJobType.from_row(await info.context.write(partial(sweep_runner(info).start, **arguments)))

    field: Any = strawberry.mutation(
        resolver=resolve,
        description=f"Start a sweep. {question.description} It continues when the client disconnects; sweepJob returns "
        "its progress. Scope: operate.",
        graphql_type=SweepJobType,
        metadata={"price": ROUTED_COST, "scope": JOB_SCOPE},
    )
    field.arguments = declared_arguments(question)
    return field


@strawberry.mutation(
    description="Cancel a sweep; null if it does not exist. Scope: operate.",
    metadata={"scope": "operate"},
)
async def _cancel_sweep(info: AppInfo, id: SweepIdArgument) -> SweepJobType | None:  # noqa: A002 # GraphQL's name
    row = await info.context.write(partial(cancel_sweep, info.context.fleet.engine, str(id)))
    return SweepJobType.from_row(row) if row else None


class Mutation:
    """The fields of type Mutation, added below."""


for _name, _field in (*mutation_fields(), ("start_sweep", _start_sweep_field()), ("cancel_sweep", _cancel_sweep)):
    if _field.metadata.get("scope") not in TOKEN_SCOPES:
        raise TypeError(f"mutation {_name} declares no scope")
    setattr(Mutation, _name, _field)
strawberry.type(
    Mutation, description="Change the inventory. If tokens are on, a mutation needs one of the scope that it names."
)
