"""Convert the types of GraphQL arguments to JSON Schema, which describes the arguments of tools."""

from collections.abc import Mapping
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    is_required_argument,
    is_required_input_field,
)

_SCALARS: Final[Mapping[str, Any]] = {
    "Boolean": "boolean",
    "Int": "integer",
    "Float": "number",
    "BigInt": ["integer", "string"],
}
_MAX_FIELDS: Final = 8
"""Input types with more fields or with objects in them, such as filters, are described by name only."""


def arguments_schema(arguments: Mapping[str, GraphQLArgument]) -> dict[str, Any]:
    """Return the schema of an object with these arguments."""
    return {
        "type": "object",
        "properties": {name: _describe(argument) for name, argument in arguments.items()},
        "required": [name for name, argument in arguments.items() if is_required_argument(argument)],
        "additionalProperties": False,
    }


def input_schema(input_type: GraphQLInputObjectType) -> dict[str, Any]:
    """Return the schema of an object with the fields of an input type."""
    return {
        "type": "object",
        "properties": {name: _describe(field) for name, field in input_type.fields.items()},
        "required": [name for name, field in input_type.fields.items() if is_required_input_field(field)],
        "additionalProperties": False,
    }


def _describe(argument: GraphQLArgument | GraphQLInputField) -> dict[str, Any]:
    schema = _convert(argument.type)
    if argument.description:
        schema["description"] = " ".join(filter(None, (argument.description, schema.get("description"))))
    return schema


def _convert(graphql_type: GraphQLInputType) -> dict[str, Any]:
    match graphql_type:
        case GraphQLNonNull():
            schema = _convert(graphql_type.of_type)
        case GraphQLList():
            schema = {"type": "array", "items": _convert(graphql_type.of_type)}
        case GraphQLEnumType():
            schema = {"type": "string", "enum": list(graphql_type.values)}
        case GraphQLInputObjectType() if _is_small(graphql_type):
            schema = input_schema(graphql_type)
        case GraphQLInputObjectType():
            schema = {"type": "object", "description": f"Its fields: resource trninv://schema/{graphql_type.name}."}
        case _:
            schema = {"type": _SCALARS.get(graphql_type.name, "string")}
    return schema


def _is_small(input_type: GraphQLInputObjectType) -> bool:
    fields = input_type.fields.values()
    has_objects = any(isinstance(get_named_type(field.type), GraphQLInputObjectType) for field in fields)
    return len(fields) <= _MAX_FIELDS and not has_objects and not input_type.name.endswith("Order")
