"""Parse the YAML that kubectl and Slurm write, for `input_file`.

An unquoted scalar is null, true, false or a number only if it is written as in JSON, or null if it is ~ or empty;
others, such as NO and 1:30, are text. Everything that JSON does not have is refused: aliases, with which few lines
expand to billions of values, and tags of other types. Duplicate keys are refused too.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from trninv.importers.json_value import MAX_INTEGER, MAX_KEY, quote_value

MAX_DEPTH: Final = 100
"""The maximum number of objects and lists within each other."""
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = {None, *(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))}
_LITERALS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER, _NUMBER = re.compile(r"-?(?:0|[1-9]\d*)"), re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NO_KEY: Final = object()
"""Stands in place of a key for an object whose next scalar is a key, and for every list."""


class YamlError(ValueError):
    """Raised for text that `parse_yaml` refuses, with the line and column if they are known."""

    def __init__(self, message: str, mark: Any) -> None:
        super().__init__(message)
        # the parser counts lines and columns from 0
        self.message, self.line, self.column = message, mark and mark.line + 1, mark and mark.column + 1


def parse_yaml(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the documents that have a value, with the lines where they begin; raise YamlError for invalid text."""
    try:
        builder = _DocumentBuilder()
        for event in yaml.parse(raw, Loader=yaml.CSafeLoader):
            builder.add_event(event)
            if isinstance(event, yaml.DocumentEndEvent) and builder.value is not None:
                yield builder.line, builder.value
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"is not YAML: {error.problem}", error.problem_mark) from None
    except yaml.YAMLError:
        raise YamlError("is not YAML: it has control characters", None) from None


class _DocumentBuilder:
    """Build documents from parser events, without recursion."""

    def __init__(self) -> None:
        self.value, self.line = None, 1
        # the open objects and lists, each with the key of its next value or _NO_KEY
        self._containers: list[tuple[Any, Any]] = []

    def add_event(self, event: Any) -> None:
        """Apply an event to the document."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.value = None
        elif isinstance(event, yaml.AliasEvent):
            raise YamlError("has an alias; write its value out", event.start_mark)
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.tag not in _TAGS:
                raise YamlError(f"has the tag {quote_value(event.tag)}; remove the tag", event.start_mark)
            self._start_value(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add_value(self._containers.pop()[0], event)

    def _start_value(self, event: Any) -> None:
        """Add a scalar, or open an object or a list."""
        if isinstance(event, yaml.ScalarEvent):
            self._add_value(_parse_scalar(event), event)
            return
        if len(self._containers) >= MAX_DEPTH:
            raise YamlError("is nested too deeply", event.start_mark)
        if not self._containers:
            self.line = event.start_mark.line + 1
        elif isinstance(self._containers[-1][0], dict) and self._containers[-1][1] is _NO_KEY:
            raise YamlError("has a key that is not a string; quote it", event.start_mark)
        self._containers.append(({} if isinstance(event, yaml.MappingStartEvent) else [], _NO_KEY))

    def _add_value(self, value: Any, event: Any) -> None:
        """Add a finished value to the innermost open container, where it may be a key."""
        if not self._containers:
            self.value = value
            return
        container, key = self._containers[-1]
        if isinstance(container, list):
            container.append(value)
        elif key is not _NO_KEY:
            container[key] = value
            self._containers[-1] = container, _NO_KEY
        elif event.value in container:
            raise YamlError(f"has the key {quote_value(event.value)} twice in one object", event.start_mark)
        elif len(event.value) > MAX_KEY:
            raise YamlError(f"has a key of more than {MAX_KEY} characters", event.start_mark)
        else:
            self._containers[-1] = container, event.value


def _parse_scalar(event: Any) -> Any:
    """Return a scalar's value; a scalar in quotes is text."""
    text, is_plain = event.value, event.implicit[0]
    kind = event.tag and event.tag.removeprefix(_TAG)
    if kind == "str" or not (is_plain or kind):
        return text
    if text in _LITERALS:
        return _LITERALS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > len(str(-MAX_INTEGER)) or abs(number := int(text)) > MAX_INTEGER:
            raise YamlError(
                f"has a whole number of {len(text):,} digits; at most 63 bits are allowed", event.start_mark
            )
        return number
    return float(text) if _NUMBER.fullmatch(text) and abs(float(text)) < float("inf") else text
