"""Check the values of a call against the types of its arguments, and name what is missing or wrong in plain words.

The API would name types and variables of a document that the agent has not written.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    is_required_argument,
    is_required_input_field,
)

from trninv.errors import UsageError

_SCALARS: Final[Mapping[str, str]] = {
    "Boolean": "true or false",
    "Int": "a whole number",
    "Float": "a number",
    "String": "a text",
    "ID": "a text",
    "Address": "an address such as u-trn2x64/d0/s1/c5",
    "BigInt": "a whole number",
}
_MAX_PROBLEMS: Final = 5


def check_values(
    tool: str, arguments: Mapping[str, GraphQLArgument | GraphQLInputField], values: Mapping[str, Any]
) -> None:
    """Check the values of a call of a tool by the names of its arguments.

    Raises
    ------
    UsageError
        An argument is missing, or a value is of the wrong type.

    """
    if missing := [name for name, argument in arguments.items() if name not in values and _is_required(argument)]:
        texts = (f"{name} ({(arguments[name].description or '').partition('. ')[0].rstrip('.')})" for name in missing)
        raise UsageError(f"{tool} needs {' and '.join(texts)}")
    problems = (
        problem
        for name, value in values.items()
        if name in arguments
        for problem in _problems(name, arguments[name].type, value)
    )
    if listed := list(islice(problems, _MAX_PROBLEMS)):
        raise UsageError(f"{tool}: {'; '.join(listed)}")


def _is_required(argument: GraphQLArgument | GraphQLInputField) -> bool:
    if isinstance(argument, GraphQLArgument):
        return is_required_argument(argument)
    return is_required_input_field(argument)


def _problems(path: str, value_type: GraphQLInputType, value: Any) -> Iterator[str]:
    match value_type:
        case GraphQLNonNull() if value is None:
            yield f"{path} may not be null"
        case GraphQLNonNull():
            yield from _problems(path, value_type.of_type, value)
        case _ if value is None:
            return
        case GraphQLList():
            items = value if isinstance(value, list) else [value]
            for index, item in enumerate(items):
                yield from _problems(f"{path}[{index}]" if items is value else path, value_type.of_type, item)
        case GraphQLInputObjectType():
            yield from _problems_of_object(path, value_type, value)
        case GraphQLEnumType() if not isinstance(value, str) or value not in value_type.values:
            yield f"{path} is not {value!r:.40}: choose one of {', '.join(value_type.values)}"
        case GraphQLScalarType():
            try:
                value_type.parse_value(value)
            except GraphQLError:
                yield f"{path} is {_SCALARS.get(value_type.name, 'another type')}, not {value!r:.40}"


def _problems_of_object(path: str, value_type: GraphQLInputObjectType, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path} is an object, not {value!r:.40}"
        return
    names = ", ".join(value_type.fields)
    for name, item in value.items():
        if name not in value_type.fields:
            yield f"{path} has no {name!r:.40}; use {names:.400}"
        else:
            yield from _problems(f"{path}.{name}", value_type.fields[name].type, item)
    yield from (
        f"{path} needs {name}"
        for name, member in value_type.fields.items()
        if name not in value and is_required_input_field(member)
    )
    if value_type.extensions["strawberry-definition"].is_one_of and len(value) != 1:
        yield f"{path} needs exactly one of {names:.400}"
