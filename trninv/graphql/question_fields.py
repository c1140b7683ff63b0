"""Generate a GraphQL field for each declared question, for the types Query and Scenario.

Questions are functions of `trninv.routing` and `trninv.placement`; their parameters become the field's arguments.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import strawberry
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.utils.str_converters import to_camel_case

from trninv import units
from trninv.graphql.answer_types import answer_type
from trninv.graphql.enums import enum_type, parameter_enum
from trninv.graphql.scalars import Address, BandwidthInput, BigInt, exact_bandwidth, list_type
from trninv.inventory.parameter import FreeText, Parameter, TimeOrEvent
from trninv.placement import questions as placement_questions
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import Question
from trninv.routing.questions import all_questions

_ARGUMENT_TYPES: Final[dict[type, Any]] = {
    str: Address,
    FreeText: str,
    TimeOrEvent: str,
    tuple: list_type(Address),
    bool: bool,
    int: int,
    float: float,
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


_camel = lru_cache(maxsize=None)(to_camel_case)
"""Converts the name of a parameter; there are few, and each request needs some."""


def question_arguments(question: Question, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a field's coerced arguments to a question's; nulls are dropped, bandwidths become bytes per second."""
    values = {parameter.name: arguments.get(graphql_name(parameter)) for parameter in question.parameters}
    return {
        name: exact_bandwidth(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value is not None
    }


def _question_field(question: Question) -> Any:
    field: Any = strawberry.field(
        description=question.description,
        graphql_type=answer_type(question.answer_type),
        metadata={"price": question.cost, "question": question},
        default=None,
    )
    field.arguments = declared_arguments(question)
    return field


def declared_arguments(question: Question) -> list[StrawberryArgument]:
    """Return the GraphQL arguments for a question's parameters."""
    return [_declare_argument(parameter) for parameter in question.parameters]


def value_type(parameter: Parameter) -> Any:
    """Return the GraphQL type of a parameter's value."""
    if parameter.argument.words:
        return parameter_enum(parameter.argument.words)
    if parameter.item_type is int:
        return list[int]
    return enum_type(parameter.value_type) if parameter.choices else _ARGUMENT_TYPES[parameter.value_type]


def graphql_name(parameter: Parameter) -> str:
    """Return a parameter's name in GraphQL."""
    return parameter.argument.name or _camel(parameter.name)


def _declare_argument(parameter: Parameter) -> StrawberryArgument:
    argument_type = value_type(parameter)
    default = strawberry.UNSET if parameter.is_required else parameter.default
    if parameter.value_type in (tuple, units.Capacity, units.Bandwidth) and not parameter.is_required:
        argument_type, default = argument_type | None, None  # null stands for the question's own default
    elif parameter.is_optional:
        argument_type = argument_type | None
    return StrawberryArgument(
        parameter.name,
        graphql_name(parameter),
        StrawberryAnnotation(argument_type),
        description=parameter.description,
        default=default,
    )


class QuestionFields:
    """The question fields that Query and Scenario share; added below."""


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
