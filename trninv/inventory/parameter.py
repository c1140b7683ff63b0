"""Declare the parameters of questions and changes by annotations: Annotated[TYPE, Argument(…)]."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.units import Bandwidth, Capacity, Quantity

MAX_ADDRESSES = 1_000
"""The maximum number of addresses in one argument of a question."""


class FreeText(str):
    """Text that is not an address, such as a shape or a time."""

    __slots__ = ()


class TimeOrEvent(FreeText):
    """Text that is a time or the number of an event; callers in Python may also pass a datetime or an int."""

    __slots__ = ()


PARAMETER_TYPES: Final = (str, tuple, DescribedEnum, bool, int, Capacity, Bandwidth)
"""Types of a parameter: an address (or `FreeText`), addresses or numbers, a choice, a flag, a number, bytes, bytes per
second.

A change may also have fractions (float) and sequences of values other than addresses.
"""


class Declaration:
    """A function that is declared with its parameters: a question or a change."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """Name in Python."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """Description that users see."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """Signature of the function without its first parameter, the snapshot or connection that it works on."""
        full = inspect.signature(self.function)
        return full.replace(parameters=list(full.parameters.values())[1:])


@dataclass(frozen=True, slots=True)
class Argument:
    """Metadata of a parameter beyond its name, type and default.

    Attributes
    ----------
    description
        Its meaning, in one sentence that users see.
    minimum, maximum
        Limits of a number, inclusive; a fraction (float) without a maximum has no limits.
    name
        Its name in GraphQL, if not the parameter's name in camelCase.
    option
        Its option on the command line, if not --NAME. A parameter with neither a default nor an option is positional;
        an empty option makes each choice a flag.
    metavar
        Placeholder of the value in the command's help.
    positional
        Whether the parameter is positional on the command line although it has a default.
    is_text
        Whether a str is text that is not an address. Only changes need it: callers call them as functions and pass a
        plain str, while questions annotate such parameters as `FreeText`.
    is_avoided
        Whether the value names places to avoid: the answer does not use them, and so does not depend on them.
    words
        The allowed values of a text, as the database stores them, with their meanings; None: any text.

    """

    description: str
    minimum: int = 0
    maximum: int | None = None
    name: str = ""
    option: str | None = None
    metavar: str = ""
    positional: bool = False
    is_text: bool = False
    is_avoided: bool = False
    words: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a question or a change.

    Attributes
    ----------
    is_optional
        Whether its value may be None.
    item_type
        The type of a sequence's items.
    """

    name: str
    value_type: type
    argument: Argument
    default: Any
    is_optional: bool
    item_type: type = str

    @classmethod
    def from_signature(cls, parameter: inspect.Parameter) -> "Parameter":
        """Build the parameter from that of a function: Annotated[TYPE, Argument(…)]."""
        value_type, argument = get_args(parameter.annotation)
        is_optional = get_origin(value_type) in (Union, UnionType)
        if is_optional:
            value_type = next(member for member in get_args(value_type) if member is not type(None))
        if argument.is_text:
            value_type = FreeText
        origin, item_types = get_origin(value_type), get_args(value_type)
        collection = tuple if origin is Sequence else origin
        item_type = item_types[0] if collection is tuple else str
        return cls(parameter.name, collection or value_type, argument, parameter.default, is_optional, item_type)

    @property
    def is_required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def description(self) -> str:
        """The argument's description, with its limits."""
        minimum, maximum = self.argument.minimum, self.argument.maximum
        return (
            self.argument.description
            if maximum is None
            else f"{self.argument.description.removesuffix('.')}: {minimum:,} to {maximum:,}."
        )

    @property
    def choices(self) -> tuple[DescribedEnum, ...]:
        """Possible values of a choice; empty for other types."""
        return tuple(self.value_type) if issubclass(self.value_type, DescribedEnum) else ()

    def addresses(self, value: Any) -> Iterable[str]:  # Any: a converted value
        """Return the addresses of the places in a value that an answer depends on."""
        if value is None or self.item_type is not str or self.argument.is_avoided:
            return ()
        return value if self.value_type is tuple else [value] if self.value_type is str else ()

    def coerce(self, value: Any) -> Any:  # Any: as a caller passes it
        """Convert a caller's value to the parameter's type.

        Raises
        ------
        InvalidArgumentError, UnitError
            The value is malformed or beyond the limits.

        """
        if value is None and self.is_optional:
            return None
        if type(value) is self.value_type and isinstance(value, str | bool | DescribedEnum):
            return value  # has nothing to convert and no limits
        if self.choices:
            return self._choice(str(value))
        if issubclass(self.value_type, tuple):
            return self._numbers(value) if self.item_type is int else tuple(unique_addresses(value))
        if issubclass(self.value_type, Quantity):
            value = self.value_type.parse(value) if isinstance(value, str) else self.value_type(value)
        is_number = issubclass(self.value_type, int | float) and self.value_type is not bool
        if is_number and (self.argument.maximum is not None or self.value_type is not float):
            self._check_limits(value)
        return value

    def _numbers(self, value: Sequence[int] | int) -> tuple[int, ...]:
        numbers = (value,) if isinstance(value, int) else tuple(value)
        if len(numbers) > MAX_ADDRESSES:
            raise InvalidArgumentError(
                f"{self.name}: {len(numbers):,} numbers are too many; use at most {MAX_ADDRESSES}"
            )
        for number in numbers:
            self._check_limits(number)
        return numbers

    def _choice(self, value: str) -> DescribedEnum:
        choices = {choice.name: choice for choice in self.choices}
        if (name := value.upper().replace("-", "_")) not in choices:
            raise InvalidArgumentError(f"{self.name}: {value!r} is not a choice; choose {' or '.join(choices).lower()}")
        return choices[name]

    def _check_limits(self, value: float) -> None:
        minimum, maximum = self.argument.minimum, self.argument.maximum
        if not minimum <= value <= (inf if maximum is None else maximum):  # also refuses nan
            limits = f"{minimum} or more" if maximum is None else f"{minimum:,} to {maximum:,}"
            unit = {Capacity: " bytes", Bandwidth: " bytes per second"}.get(self.value_type, "")
            number = int(value) if isinstance(value, int) else value  # a quantity would print its unit
            raise InvalidArgumentError(f"{self.name} {number:,} is out of range; use {limits}{unit}")


def unique_addresses(addresses: Sequence[str] | str) -> Sequence[str]:
    """Return addresses without duplicates; a single address may be passed without a list.

    Raises
    ------
    InvalidArgumentError
        There are more than MAX_ADDRESSES.

    """
    unique = [addresses] if isinstance(addresses, str) else list(dict.fromkeys(addresses))
    if len(unique) > MAX_ADDRESSES:
        raise InvalidArgumentError(f"{len(unique):,} addresses are too many; name at most {MAX_ADDRESSES}")
    return unique


def camel_case(name: str) -> str:
    """Return a name in snake case or with hyphens as GraphQL writes it."""
    first, *rest = name.replace("-", "_").split("_")
    return first + "".join(map(str.capitalize, rest))


def render_names(declaration: Declaration, command: str, field: str, field_text: str) -> str:
    """Return the names of a declaration in GraphQL and Python, as far as they are not those of its command."""
    names = [field_text] if field != camel_case(command) else []
    if declaration.name != command.replace("-", "_"):
        names.append(f"in Python `{declaration.name}`")
    return ", ".join(names)


Choices = tuple[tuple[str, str], ...]
"""The values of a parameter with their meanings."""


def shared_choices(parameters: Iterable[Parameter]) -> dict[Choices, str]:
    """Return the choices that several parameters offer, each with the name of the first such parameter."""
    names: dict[Choices, list[str]] = {}
    for parameter in parameters:
        if choices := _choices(parameter):
            names.setdefault(choices, []).append(parameter.name)
    return {choices: first for choices, (first, *others) in names.items() if others}


def render_choices(shared: Mapping[Choices, str]) -> Iterator[str]:
    """Yield the lines of a Markdown list of choices that the tables of parameters do not explain."""
    for choices, name in shared.items():
        yield f"- `{name}`:{_render_choices(choices)}"


def _choices(parameter: Parameter) -> Choices:
    meanings = {choice.name.lower(): choice.description for choice in parameter.choices}
    meanings |= parameter.argument.words or {}
    return tuple(meanings.items())


def _render_choices(choices: Choices) -> str:
    return "".join(f" `{choice}`: {meaning}" for choice, meaning in choices)


def render_parameters(parameters: Iterable[Parameter], shared: Mapping[Choices, str]) -> Iterator[str]:
    """Yield the lines of a Markdown table of parameters, without the meanings of `shared` choices."""
    yield "| parameter | default | meaning |"
    yield "| --- | --- | --- |"
    yield from (_render_parameter(parameter, shared) for parameter in parameters)


def _render_parameter(parameter: Parameter, shared: Mapping[Choices, str]) -> str:
    default = (
        "required"
        if parameter.is_required
        else ""
        if parameter.default in (None, ())
        else f"`{str(parameter.default).lower()}`"
    )
    choices = _choices(parameter)
    text = f" {', '.join(f'`{choice}`' for choice, _ in choices)}." if choices in shared else _render_choices(choices)
    return f"| `{parameter.name}` | {default} | {parameter.description}{text} |"
