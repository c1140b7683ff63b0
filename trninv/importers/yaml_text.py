"""YAML as ``kubectl -o yaml`` and Slurm's ``--yaml`` write it, as the values that the same would be in JSON.

Text without quotes is null, true, false or a number if it is written as in JSON, and else a text: no NO, no 1:30. What
JSON has no word for is refused: aliases, with which few lines are billions of values, other tags, keys that come twice.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from trninv.importers.value import LARGEST, MAX_KEY, shown

MAX_DEPTH: Final = 100
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = {None, *(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))}
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER, _NUMBER = re.compile(r"-?(?:0|[1-9]\d*)"), re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NONE: Final = object()


class YamlError(ValueError):
    """Text that is not YAML as it is read here, with its line and column."""

    def __init__(self, what: str, mark: Any) -> None:
        super().__init__(what)
        self.what, self.line, self.column = what, mark and mark.line + 1, mark and mark.column + 1


def documents(raw: bytes) -> Iterator[tuple[int, Any]]:
    """The documents of a text that have a value, with the lines where they begin.

    Raises
    ------
    YamlError

    """
    try:
        built = _Built()
        for event in yaml.parse(raw, Loader=yaml.CSafeLoader):
            built.take(event)
            if isinstance(event, yaml.DocumentEndEvent) and built.value is not None:
                yield built.line, built.value
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"is not YAML: {error.problem}", error.problem_mark) from None
    except yaml.YAMLError:
        raise YamlError("is not YAML: it has characters that no text has", None) from None


class _Built:
    """A document that is built from its events, without recursion."""

    def __init__(self) -> None:
        self.value, self.line = None, 1
        self._open: list[tuple[Any, Any]] = []

    def take(self, event: Any) -> None:
        """Add an event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.value = None
        elif isinstance(event, yaml.AliasEvent):
            raise YamlError("has an alias: write its value out", event.start_mark)
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.tag not in _TAGS:
                raise YamlError(f"has the tag {shown(event.tag)}, which no tool writes here", event.start_mark)
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._put(self._open.pop()[0], event)

    def _start(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._put(_scalar(event), event)
            return
        if len(self._open) >= MAX_DEPTH:
            raise YamlError("is nested too deeply", event.start_mark)
        if not self._open:
            self.line = event.start_mark.line + 1
        elif isinstance(self._open[-1][0], dict) and self._open[-1][1] is _NONE:
            raise YamlError("has a key that is no text", event.start_mark)
        self._open.append(({} if isinstance(event, yaml.MappingStartEvent) else [], _NONE))

    def _put(self, value: Any, event: Any) -> None:
        if not self._open:
            self.value = value
            return
        into, key = self._open[-1]
        if isinstance(into, list):
            into.append(value)
        elif key is not _NONE:
            into[key] = value
            self._open[-1] = into, _NONE
        elif event.value in into:
            raise YamlError(f"has the key {shown(event.value)} twice in one object", event.start_mark)
        elif len(event.value) > MAX_KEY:
            raise YamlError(f"has a key of more than {MAX_KEY} characters", event.start_mark)
        else:
            self._open[-1] = into, event.value


def _scalar(event: Any) -> Any:
    text, is_plain = event.value, event.implicit[0]
    kind = event.tag and event.tag.removeprefix(_TAG)
    if kind == "str" or not (is_plain or kind):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > len(str(-LARGEST)) or abs(number := int(text)) > LARGEST:
            raise YamlError(f"has a whole number of {len(text):,} digits: 63 bits are the most", event.start_mark)
        return number
    return float(text) if _NUMBER.fullmatch(text) and abs(float(text)) < float("inf") else text
