"""Generate a mutation, with its input and payload, for each declared change.

Changes are functions of `trninv.inventory`, `trninv.reconcile` and `trninv.placement`; each mutation is one transaction
and needs a token of the scope that the change declares.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, Final, get_args, get_origin

import strawberry
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument

from trninv.errors import ForbiddenError
from trninv.graphql.answer_types import graphql_type
from trninv.graphql.enums import State
from trninv.graphql.inventory_types import LocatedInterface
from trninv.graphql.question_fields import graphql_name, value_type
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import Address, AddressReference, lazy_type, list_type
from trninv.incidents.model import IncidentNote
from trninv.inventory.change import Change
from trninv.inventory.parameter import Parameter
from trninv.inventory.state.bindings import Binding
from trninv.inventory.state.condition import PPM, Condition
from trninv.inventory.state.state_change import ConditionChange
from trninv.placement.allocations.job_allocations import Job
from trninv.placement.allocations.reservations import Reservation
from trninv.placement.allocations.server_cordons import Cordon
from trninv.placement.changes import all_changes
from trninv.reconcile.findings import Finding
from trninv.routing.answer import strip_annotations
from trninv.routing.question import SCAN_COST

_WHO: Final = (
    "Who makes the change, if the service requires no token. With a token, omit it: the token's name is "
    "recorded, and any other name is refused."
)
_WHY: Final = "The reason, stored with the change."
_DRY_RUN: Final = "Return the result without changing anything."
_MUTATION_ID: Final = "Any text; the payload returns it unchanged."
_RETURNED_MUTATION_ID: Final = "The text from the input, unchanged."


@strawberry.type(name="StateChange", description="A change of state.")
class StateChangeType:
    target: Any = strawberry.field(description="The changed part, as it is now.", graphql_type=LocatedInterface)
    address: Address = strawberry.field(description="Address of the changed part.")
    before: Any = strawberry.field(description="State before.", graphql_type=State)
    after: Any = strawberry.field(description="State now.", graphql_type=State)
    factor: float | None = strawberry.field(description="Fraction of its bandwidth that a degraded part carries now.")
    factor_before: float | None = strawberry.field(
        description="Fraction of its bandwidth that a degraded part carried before."
    )

    @classmethod
    def from_change(cls, change: ConditionChange) -> "StateChangeType":
        """Convert a change."""
        return cls(
            target=AddressReference(change.address),
            address=Address(change.address),
            before=State(change.before.state),
            after=State(change.after.state),
            factor=_fraction(change.after),
            factor_before=_fraction(change.before),
        )


def _fraction(condition: Condition) -> float | None:
    return None if condition.factor_ppm is None else condition.factor_ppm / PPM


_RESULTS: Final[Mapping[type, tuple[Any, Any]]] = {
    Binding: (
        lazy_type("Binding"),
        lambda binding: SimpleNamespace(slot=binding.address, **asdict(binding)),
    ),
    Finding: (lazy_type("Finding"), lambda finding: finding),
    Cordon: (lazy_type("Cordon"), lambda cordon: cordon),
    Job: (lazy_type("Job"), lambda job: job),
    Reservation: (lazy_type("Reservation"), lambda reservation: reservation),
    IncidentNote: (lazy_type("IncidentNote"), lambda note: note),
    ConditionChange: (StateChangeType, StateChangeType.from_change),
}
"""By result class, if its GraphQL type is not generated from it: that type and the function that converts to it."""


def mutation_fields() -> Iterator[tuple[str, Any]]:
    """Yield the name and the field of each change that has a mutation."""
    for change in all_changes():
        if change.field:
            yield change.field, _mutation_field(change)


def _mutation_field(change: Change[..., Any]) -> Any:
    input_type, payload_type = _input_type(change), _payload_type(change.payload)

    async def resolve(info: AppInfo, input: Any) -> Any:  # noqa: A002 # Relay's name
        why = input.why if change.takes_reason else None
        values = _change_values(change, input) | change_author(change, info.context.who, input.who, why)
        run = partial(change.run, info.context.fleet.engine, dry_run=input.dry_run, **values)
        result = await info.context.write(run)
        fields = {name: _convert(value) for name, value in change.result_values(result).items()}
        return payload_type(**fields, client_mutation_id=input.client_mutation_id)

    field: Any = strawberry.mutation(
        resolver=resolve,
        description=f"{change.description}\n\nScope: {change.scope}.",
        graphql_type=payload_type,
        metadata={"price": SCAN_COST, "scope": change.scope, "command": change.command},
    )
    field.arguments = [
        StrawberryArgument("input", "input", StrawberryAnnotation(input_type), description="What to change.")
    ]
    return field


def _change_values(change: Change[..., Any], change_input: Any) -> dict[str, Any]:
    values = {parameter.name: getattr(change_input, parameter.name) for parameter in change.parameters}
    return {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}


def change_author(change: Change[..., Any], token_name: str, who: str | None, why: str | None) -> dict[str, str]:
    """Return the arguments `who`, `why` and `source` of a change, without those that it does not take.

    `who` becomes the name of the token, or stays the name in the request if tokens are off; `source` is the interface
    used.

    Raises
    ------
    ForbiddenError
        The request names somebody else than the token does.

    """
    if token_name and who not in (None, token_name):
        raise ForbiddenError(f"who: the token is {token_name}'s, not {who!r:.40}; omit who")
    author = {"who": token_name or who or "", "source": "api", "why": why or ""}
    return {name: value for name, value in author.items() if name in change.signature.parameters}


def _convert(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_convert(item) for item in value]
    return _RESULTS[type(value)][1](value) if type(value) in _RESULTS else value


def _input_type(change: Change[..., Any]) -> type:
    members, optional = dict[str, Any](), dict[str, Any]()
    for parameter in change.parameters:
        (members if parameter.is_required else optional)[parameter.name] = _parameter_member(parameter)
    why = {"why": _member(str if change.needs_reason else str | None, _WHY, is_required=change.needs_reason)}
    if change.needs_reason:  # required members come first
        members |= why
    members |= optional | {"who": _member(str | None, _WHO, is_required=False)}
    if change.takes_reason:
        members |= why
    members["dry_run"] = bool, strawberry.field(description=_DRY_RUN, default=False)
    members["client_mutation_id"] = _member(str | None, _MUTATION_ID, is_required=False)
    name = f"{change.field[0].upper()}{change.field[1:]}Input"
    return _create_type(strawberry.input, name, f"Arguments of {change.field}.", members)


def _parameter_member(parameter: Parameter) -> tuple[Any, Any]:
    member_type = value_type(parameter) if parameter.item_type is str else list_type(_item_type(parameter.item_type))
    options: dict[str, Any] = {"name": graphql_name(parameter), "description": parameter.description}
    if not parameter.is_required:
        options |= {"default_factory": list} if parameter.value_type is tuple else {"default": parameter.default}
    return member_type | None if parameter.is_optional else member_type, strawberry.field(**options)


@cache
def _item_type(item: type) -> type:
    """Return the input type generated from a class, whose properties become the fields."""
    members = {}
    for name, member in vars(item).items():
        if isinstance(member, property) and member.fget:
            hint = inspect.signature(member.fget).return_annotation
            member_type = list_type(Address) if get_origin(hint) is Sequence else hint
            members[name] = _member(member_type, inspect.getdoc(member) or "", is_required=True)
    return _create_type(strawberry.input, f"{item.__name__}Input", inspect.getdoc(item) or "", members)


@cache
def _payload_type(name: str) -> type:
    """Return the GraphQL type of a payload by name; all changes with this payload return the same fields."""
    changes = [change for change in all_changes() if change.field and change.payload == name]
    members = {
        field_name: _member(_result_type(hint), changes[0].returns[field_name], is_required=True)
        for field_name, hint in changes[0].result_types.items()
    }
    members["client_mutation_id"] = _member(str | None, _RETURNED_MUTATION_ID, is_required=True)
    description = f"Result of {' or '.join(change.field for change in changes)}."
    return _create_type(strawberry.type, name, description, members)


def _result_type(hint: Any) -> Any:
    """Return the GraphQL type for the type hint of a result, which is a class, or a list or tuple of a class."""
    bare_type, _ = strip_annotations(hint)
    if get_origin(bare_type) in (list, tuple):
        return list_type(_result_type(get_args(bare_type)[0]))
    return _RESULTS[bare_type][0] if bare_type in _RESULTS else graphql_type(object, bare_type)


def _member(member_type: Any, description: str, *, is_required: bool) -> tuple[Any, Any]:
    options: dict[str, Any] = {} if is_required else {"default": None}
    return member_type, strawberry.field(description=description, **options)


def _create_type(kind: Any, name: str, description: str, members: Mapping[str, tuple[Any, Any]]) -> type:
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
    for member, (member_type, field) in members.items():
        namespace["__annotations__"][member], namespace[member] = member_type, field
    generated: type = kind(description=description)(type(name, (), namespace))
    return generated
