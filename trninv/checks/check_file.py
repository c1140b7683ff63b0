"""Read the checks of a YAML file, and describe such files as JSON Schema.

checks:
  - name: The halves of d3 reach each other   # by default, the measure and its arguments
    bisection: {scope: prod/d3, at_least: 1900 GB/s}
    down: [prod/d3/s0]                        # and derate, as in `what_if`
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from trninv.checks.measure import BOUNDS, Measure
from trninv.checks.measures import MEASURES
from trninv.errors import InvalidArgumentError, suggestion
from trninv.importers.yaml_list import parse_yaml_list
from trninv.inventory.parameter import Parameter
from trninv.units import Quantity

MAX_CHECKS: Final = 1_000
_MAX_NAME: Final = 200
_ROOT: Final = "checks"
SCENARIO: Final[Mapping[str, str]] = {
    "down": "Addresses of parts that are assumed to be down.",
    "derate": "Addresses of parts with the fraction of their bandwidth that they are assumed to carry.",
}


@dataclass(frozen=True, slots=True)
class Check:
    """A measure with its arguments and bounds.

    Attributes
    ----------
    line
        Line of the file where it begins, from 1.
    values
        The measure's arguments, by the names of its function's parameters.
    bounds
        Bounds in base units, by AT_LEAST and AT_MOST.
    down, derate
        The scenario; see `BaseFleet.what_if`.

    """

    name: str
    line: int
    measure: Measure
    values: Mapping[str, Any]
    bounds: Mapping[str, int]
    down: Sequence[str] = ()
    derate: Mapping[str, float] = field(default_factory=dict)


def parse_checks(raw: bytes, file: str) -> list[Check]:
    """Parse a file of checks.

    Raises
    ------
    InvalidFileError
        The file is no such file; the error lists everything that is wrong, with its lines.

    """
    return parse_yaml_list(raw, file, _ROOT, _parse_check, maximum=MAX_CHECKS, consequence="nothing was checked")


def _parse_check(item: Any, line: int) -> Check:  # Any: a value of YAML
    if not isinstance(item, dict):
        raise InvalidArgumentError("a check is an object with a measure, such as bisection, as a key")
    names = [key for key in item if key not in ("name", *SCENARIO)]
    if misplaced := next((name for name in names if name in BOUNDS), None):
        raise InvalidArgumentError(f"{misplaced} belongs with the measure's arguments: {{…, {misplaced}: …}}")
    if len(names) != 1 or names[0] not in MEASURES:
        wrong = next((name for name in names if name not in MEASURES), "")
        advice = f"there is no measure {wrong!r:.60}; {suggestion(wrong, MEASURES)}" if wrong else ", ".join(MEASURES)
        raise InvalidArgumentError(f"a check has one measure; {advice}")
    measure, arguments = MEASURES[names[0]], item[names[0]]
    if not isinstance(arguments, dict):
        raise InvalidArgumentError(f"{measure.name} is not an object with arguments, such as {measure.examples[0]}")
    bounds = {key: measure.parse_bound(key, value) for key, value in arguments.items() if key in BOUNDS}
    if not bounds and measure.implied is None:
        raise InvalidArgumentError(f"{measure.name} needs a bound: {' or '.join(BOUNDS)}")
    sent = {key: value for key, value in arguments.items() if key not in BOUNDS}
    down, derate = _parse_scenario(item, measure)
    return Check(
        _parse_name(item.get("name"), measure, sent),
        line,
        measure,
        measure.coerce_values(sent),
        bounds or dict([measure.implied] if measure.implied else []),
        down,
        derate,
    )


def _parse_name(name: Any, measure: Measure, arguments: Mapping[str, Any]) -> str:
    if name is None:
        texts = (", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in arguments.values())
        return " ".join([measure.name.replace("_", " "), *texts])[:_MAX_NAME]
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME:
        raise InvalidArgumentError(f"name is not text of 1 to {_MAX_NAME} characters")
    return name


def _parse_scenario(item: Mapping[str, Any], measure: Measure) -> tuple[list[str], dict[str, float]]:
    down, derate = item.get("down", []), item.get("derate", {})
    if not measure.allows_scenario and (down or derate):
        raise InvalidArgumentError(
            f"{measure.name} takes no scenario: it counts what was recorded; remove down, derate"
        )
    if not isinstance(down, list) or not all(isinstance(address, str) for address in down):
        raise InvalidArgumentError("down is not a list of addresses")
    factors = derate.values() if isinstance(derate, dict) else [None]
    if not all(isinstance(factor, int | float) and not isinstance(factor, bool) for factor in factors):
        raise InvalidArgumentError("derate is not an object with a factor for each address, such as {prod/d0/s0: 0.5}")
    return down, derate


def file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file, for editors."""
    common: dict[str, Any] = {
        "name": {"type": "string", "maxLength": _MAX_NAME},
        "down": {"type": "array", "items": {"type": "string"}, "description": SCENARIO["down"]},
        "derate": {"type": "object", "additionalProperties": {"type": "number"}, "description": SCENARIO["derate"]},
    }
    measures = {name: _measure_schema(measure) for name, measure in MEASURES.items()}
    item = {
        "type": "object",
        "properties": common | measures,
        "oneOf": [{"required": [name]} for name in MEASURES],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Checks of trninv check",
        "type": "object",
        "properties": {_ROOT: {"type": "array", "minItems": 1, "maxItems": MAX_CHECKS, "items": item}},
        "required": [_ROOT],
        "additionalProperties": False,
    }


def _measure_schema(measure: Measure) -> dict[str, Any]:
    is_quantity = issubclass(measure.unit, Quantity)
    bounds = {
        name: {"type": "string" if is_quantity else "integer", "description": text} for name, text in BOUNDS.items()
    }
    parameters = {name: _parameter_schema(parameter) for name, parameter in measure.parameters_by_name.items()}
    schema = {
        "type": "object",
        "description": measure.description,
        "properties": parameters | bounds,
        "required": [name for name, parameter in measure.parameters_by_name.items() if parameter.is_required],
        "additionalProperties": False,
    }
    return schema | ({} if measure.implied else {"anyOf": [{"required": [name]} for name in BOUNDS]})


def _parameter_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": parameter.description}
    if issubclass(parameter.value_type, tuple):
        schema |= {"type": ["array", "string"], "items": {"type": "string"}}
    elif words := [*(parameter.argument.words or [choice.name.lower() for choice in parameter.choices])]:
        schema["enum"] = words
    elif issubclass(parameter.value_type, int) and not issubclass(parameter.value_type, Quantity):
        schema |= {"type": "integer", "minimum": parameter.argument.minimum}
    return schema
