"""Declare what a check can measure as annotated functions.

    @measure(Bandwidth, examples=("{scope: prod/d3, at_least: 1900 GB/s}",))
    def bisection(fleet: Fleet, scope: Annotated[str, Argument("Chip, … or cluster.")]) -> Reading:
        '''Measure the bisection bandwidth of a scope, one direction.'''

The measures are in `trninv.checks.measures`. The parameters of the file, its JSON Schema and the reference page are
generated from the declarations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from trninv.errors import InvalidArgumentError, suggestion
from trninv.importers.collection_schedule import parse_duration
from trninv.inventory.parameter import Declaration, FreeText, Parameter
from trninv.units import Bandwidth, Capacity, Quantity, pluralize

AT_LEAST: Final = "at_least"
AT_MOST: Final = "at_most"
BOUNDS: Final = {AT_LEAST: "The lowest value that passes.", AT_MOST: "The highest value that passes."}
_MAX_AGE: Final = 86_400 * 3_650
_BASE_UNITS: Final[dict[type[int], str]] = {Bandwidth: "bytes per second", Capacity: "bytes"}


class Age(FreeText):
    """An age such as 30m, 2h or 3d, which is valid when a file has been read."""

    __slots__ = ()

    @property
    def seconds(self) -> int:
        """The age in seconds."""
        return parse_duration(self, "age", _MAX_AGE)


@dataclass(frozen=True, slots=True)
class Reading:
    """A measured value.

    Attributes
    ----------
    lower, upper
        Proven bounds of the value, equal if it is exact; None if there is no value, such as hops without a path.
    explanation
        Why the value is what it is: the cut, path, findings or incidents, in words.

    """

    lower: int | None
    upper: int | None
    explanation: str = ""

    @classmethod
    def exact(cls, value: int | None, explanation: str = "") -> "Reading":
        """Return a reading without uncertainty."""
        return cls(value, value, explanation)


@dataclass(frozen=True)
class Measure(Declaration):
    """A value of a fleet that a check bounds.

    Attributes
    ----------
    function
        Takes a `trninv.placement.placement_fleet.Fleet` and the parameters; returns a `Reading`.
    unit
        Type of the value and of its bounds: `Bandwidth`, `Capacity` or int for a number.
    noun
        What a number counts, in the singular; empty for quantities.
    examples
        Its arguments in a file, as YAML.
    implied
        The bound of a check that names none: AT_LEAST or AT_MOST and a value; None if a check must name one.
    allows_scenario
        Whether a check may assume that parts are down; lists of what was recorded don't change with an assumption.

    """

    function: Callable[..., Reading]
    unit: type[int]
    noun: str
    examples: Sequence[str]
    implied: tuple[str, int] | None
    allows_scenario: bool

    @cached_property
    def parameters_by_name(self) -> dict[str, Parameter]:
        """Parameters by their names in a file."""
        declared = map(Parameter.from_signature, self.signature.parameters.values())
        return {parameter.argument.name or parameter.name: parameter for parameter in declared}

    def coerce_values(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Convert the arguments of a file to the parameters' types.

        Raises
        ------
        TrninvError
            An argument is unknown, missing, malformed or beyond its limits.

        """
        if unknown := [name for name in arguments if name not in self.parameters_by_name]:
            names = ", ".join([*self.parameters_by_name, *BOUNDS])
            raise InvalidArgumentError(f"{self.name} takes no {unknown[0]!r:.60}; use {names}")
        for name, parameter in self.parameters_by_name.items():
            if name not in arguments and parameter.is_required:
                raise InvalidArgumentError(f"{self.name} needs {name}: {parameter.description}")
        return {self.parameters_by_name[name].name: self._coerce(name, value) for name, value in arguments.items()}

    def _coerce(self, name: str, value: Any) -> Any:  # Any: a value of YAML
        parameter = self.parameters_by_name[name]
        items = value if isinstance(value, list) and issubclass(parameter.value_type, tuple) else [value]
        is_number = issubclass(parameter.value_type, int) and not issubclass(parameter.value_type, Quantity)
        expected = int if is_number else str
        if any(isinstance(item, bool) or not isinstance(item, expected) for item in items):
            raise InvalidArgumentError(
                f"{name} is {'a whole number' if is_number else 'text'}: {parameter.description}"
            )
        if (words := parameter.argument.words) and value not in words:
            raise InvalidArgumentError(f"{name}: there is no {value!r:.60}; {suggestion(value, words)}")
        if issubclass(parameter.value_type, Age):
            parse_duration(value, name, _MAX_AGE)
            return Age(value)
        return parameter.coerce(value)

    def parse_bound(self, name: str, value: Any) -> int:  # Any: a value of YAML
        """Return a bound as a number of base units.

        Raises
        ------
        TrninvError
            It is not a quantity of the measure's unit.

        """
        if issubclass(self.unit, Quantity) and isinstance(value, str):
            return self.unit.parse(value)
        if issubclass(self.unit, Quantity) or isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgumentError(f"{name}: {value!r:.60} is not {self.describe_unit()}")
        return value

    def describe_unit(self) -> str:
        """Return what a bound is, in words."""
        if issubclass(self.unit, Quantity):
            return f"a {self.unit.__name__.lower()} with its unit, such as 1024 {self.unit.PRINTED[0]}"
        return f"a whole number of {self.noun}s"

    @property
    def base_unit(self) -> str:
        """Name of the unit of readings and bounds, in the plural."""
        return _BASE_UNITS.get(self.unit, f"{self.noun}s")

    def format(self, value: int) -> str:
        """Return a value as text, with its unit."""
        return str(self.unit(value)) if issubclass(self.unit, Quantity) else pluralize(value, self.noun)


def measure(
    unit: type[int] = int,
    *,
    noun: str = "",
    examples: Sequence[str],
    implied: tuple[str, int] | None = None,
    allows_scenario: bool = True,
) -> Callable[[Callable[..., Reading]], Measure]:
    """Declare a measure; see `Measure`."""
    return lambda function: Measure(function, unit, noun, examples, implied, allows_scenario)
