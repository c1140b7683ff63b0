"""The part of YAML that every reader understands alike: maps and lists in block style, without anchors or tags.

A text stands bare only where no version of YAML takes it for something else; NO, on, 1:30, 0x1f and the like do not.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from trninv.errors import UsageError

_BARE: Final = re.compile(r"[A-Za-z_/][-\w./]*(?:\[[-\d,]+\][-\w.]*)*", re.ASCII)
_WORDS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_KEY: Final = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s"][^:\s]*):(?: (.*))?')
_STEP: Final = 2


def document(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    """Lines of a map or list."""
    return _map(value, "") if isinstance(value, Mapping) else _list(value, "")


def _map(value: Mapping[str, Any], pad: str) -> Iterator[str]:
    for key, of in value.items():
        if isinstance(of, Mapping | list | tuple) and of:
            yield f"{pad}{_key(key)}:"
            inner = pad + " " * _STEP
            yield from _map(of, inner) if isinstance(of, Mapping) else _list(of, inner)
        else:
            yield f"{pad}{_key(key)}: {_scalar(of)}"


def _list(value: Sequence[Any], pad: str) -> Iterator[str]:
    for of in value:
        if isinstance(of, Mapping):
            first, *rest = _map(of, pad + " " * _STEP)
            yield f"{pad}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{pad}- {_scalar(of)}"


def _key(key: str) -> str:
    """A key; Slurm looks for y as it stands."""
    return key if key == "y" else _scalar(key)


def _scalar(value: object) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


def documents(lines: Iterable[str]) -> Iterator[Any]:
    """What documents say that are written so; --- stands between them.

    Raises
    ------
    UsageError
        A line is not of this part of YAML.

    """
    rows = (line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    for between, group in groupby(rows, lambda line: line == "---"):
        if not between:
            left = [(len(line) - len(line.lstrip()), line.strip()) for line in reversed(list(group))]
            yield _block(left, left[-1][0])
            if left:
                raise UsageError(f"not YAML of ours: {left[-1][1][:80]!r}")


def _block(left: list[tuple[int, str]], indent: int) -> Any:
    """The map or list that begins on the last of the lines that are left, which are taken away."""
    if left[-1][1].startswith("- "):
        items = []
        while left and left[-1][0] == indent and left[-1][1].startswith("- "):
            text = left.pop()[1][_STEP:]
            if _KEY.fullmatch(text):
                left.append((indent + _STEP, text))
                items.append(_block(left, indent + _STEP))
            else:
                items.append(_value(text))
        return items
    found = {}
    while left and left[-1][0] == indent and (pair := _KEY.fullmatch(left[-1][1])):
        left.pop()
        key, text = json.loads(pair[1]) if pair[1][0] == '"' else pair[1], pair[2]
        if key in found:
            raise UsageError(f"{key} is there twice")
        found[key] = _block(left, left[-1][0]) if text is None and left and left[-1][0] > indent else _value(text or "")
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if _BARE.fullmatch(text) and text.lower() not in _WORDS:
            return text
        raise UsageError(f"not YAML of ours: {text[:80]!r}") from None
