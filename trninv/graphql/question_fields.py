"""Add a field for each declared question to Query and Scenario."""

from collections.abc import Mapping
from typing import Any, Final

import strawberry
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.utils.str_converters import to_camel_case as camel

from trninv import units
from trninv.graphql.answer_types import answer_type, enum_type
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import Address, BandwidthInput, BigInt, list_type
from trninv.placement import questions as placement_questions
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import FreeText, Question, QuestionParameter
from trninv.routing.questions import all_questions

_ARGUMENT_TYPES: Final[dict[type, Any]] = {
    str: Address,
    FreeText: str,
    tuple: list_type(Address),
    bool: bool,
    int: int,
    units.Capacity: BigInt,
    units.Bandwidth: BandwidthInput,
}


@strawberry.input(description="A place or link, and the fraction of its current bandwidth that it carries.")
class DeratingInput:
    address: Address = strawberry.field(description="Address of the place or link.")
    factor: float = strawberry.field(description="Fraction, more than 0 and less than 1.")


@strawberry.input(description="A job, and the places allocated to it.")
class AssumedAllocationInput:
    job: str = strawberry.field(description="Its name.")
    places: list[Address] = strawberry.field(description="Chips, servers, racks or domains.")


def question_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a field's arguments to a question's; nulls are dropped and bandwidths become bytes per second."""
    present = {name: value for name, value in arguments.items() if value is not None}
    return present | {name: value.exact() for name, value in present.items() if isinstance(value, BandwidthInput)}


def _question_field(question: Question) -> Any:
    async def resolve(self: Any, info: AppInfo, **arguments: Any) -> Any:
        fleet = self.fleet if isinstance(self, ScenarioType) else info.context.fleet
        return await info.context.ask(fleet.ask, question, **question_arguments(arguments))

    field: Any = strawberry.field(
        resolver=resolve,
        description=question.description,
        graphql_type=answer_type(question.answer_type),
        metadata={"price": question.cost, "question": question},
    )
    field.arguments = declared_arguments(question)
    return field


def declared_arguments(question: Question) -> list[StrawberryArgument]:
    """Return the GraphQL arguments for a question's parameters."""
    return [_declare_argument(parameter) for parameter in question.parameters]


def _declare_argument(parameter: QuestionParameter) -> StrawberryArgument:
    argument_type = enum_type(parameter.value_type) if parameter.choices else _ARGUMENT_TYPES[parameter.value_type]
    default = strawberry.UNSET if parameter.is_required else parameter.default
    if parameter.value_type in (tuple, units.Capacity, units.Bandwidth) and not parameter.is_required:
        argument_type, default = argument_type | None, None
    elif parameter.is_optional:
        argument_type = argument_type | None
    name = parameter.argument.name or camel(parameter.name)
    return StrawberryArgument(
        parameter.name, name, StrawberryAnnotation(argument_type), description=parameter.description, default=default
    )


class QuestionFields:
    """The question fields that Query and Scenario share."""


for _question in (*all_questions(), *placement_questions.all_questions()):
    if _question.field:
        setattr(QuestionFields, _question.field, _question_field(_question))
strawberry.type(QuestionFields)


@strawberry.type(
    name="Scenario",
    description="A scenario: its answers also have the baseline, the answer without the scenario, and the difference.",
)
class ScenarioType(QuestionFields):
    fleet: strawberry.Private[BaseFleet]
