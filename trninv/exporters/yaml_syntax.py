"""Write YAML, line by line, and read it back with PyYAML.

Texts are quoted if any version of YAML could read them as something else, such as NO, on, 1:30 or 0x1f.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TextIO

import yaml

from trninv.exporters.serialization import Syntax

_BARE_TEXT: Final = re.compile(r"[A-Za-z_/][-\w./]*(?:\[[-\d,]+\][-\w.]*)*", re.ASCII)
"""Texts that need no quotes unless they are reserved: words, paths, and lists of hosts such as n[0-3]."""
_RESERVED_WORDS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
"""Texts that some version of YAML reads as a truth value or null."""
_SURROGATES: Final = re.compile(r"\\\\|\\u(d[89ab]..)\\u(d[c-f]..)")
"""An escaped backslash, or JSON's escape of a character beyond U+FFFF."""
_INDENT: Final = 2
_MAX_DEPTH: Final = 100


def _map_lines(value: Mapping[str, Any], pad: str) -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, Mapping | list) and item:
            yield f"{pad}{_format_key(key)}:"
            inner = pad + " " * _INDENT
            yield from _map_lines(item, inner) if isinstance(item, Mapping) else _list_lines(item, inner)
        else:
            yield f"{pad}{_format_key(key)}: {_format_scalar(item)}"


def _list_lines(value: Sequence[Any], pad: str) -> Iterator[str]:
    for item in value:
        if isinstance(item, Mapping):
            first, *rest = _map_lines(item, pad + " " * _INDENT)
            yield f"{pad}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{pad}- {_format_scalar(item)}"


def _format_key(key: str) -> str:
    """Return a key, quoted if necessary; y stays bare, because Slurm does not accept it in quotes."""
    return key if key == "y" else _format_scalar(key)


def _format_scalar(value: object) -> str:
    if isinstance(value, str) and _BARE_TEXT.fullmatch(value) and value.lower() not in _RESERVED_WORDS:
        return value
    return _SURROGATES.sub(_join_surrogates, json.dumps(value))


def _join_surrogates(match: re.Match[str]) -> str:
    """Return YAML's escape of a character beyond U+FFFF: a single number instead of JSON's surrogate pair."""
    if not match[1]:
        return match[0]
    character: str = json.loads(match[0].join('""'))
    return f"\\U{ord(character):08x}"


def _yaml_lines(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    return _map_lines(value, "") if isinstance(value, Mapping) else _list_lines(value, "")


def _yaml_document_lines(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    yield "---"
    yield from _yaml_lines(value)


class _Loader(yaml.CSafeLoader):  # type: ignore[misc] # PyYAML has no types
    """PyYAML's loader, which takes a repeated key's last value, changed to refuse repeated keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key is repeated", node.start_mark)
        return mapping


def _read_yaml(file: TextIO) -> Iterator[Any]:
    """Yield documents as PyYAML reads them, so that unquoted words that YAML 1.1 does not take for text are found."""
    depth = 0
    try:
        for event in yaml.parse(file, Loader=yaml.CSafeLoader):  # the loader would overflow the C stack
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep")
        file.seek(0)
        yield from yaml.load_all(file, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


YAML: Final = Syntax(write=_yaml_lines, read=_read_yaml)
"""The syntax of a map or list: one YAML document."""
YAML_DOCUMENTS: Final = Syntax(write=_yaml_document_lines, read=_read_yaml)
"""The syntax of any number of maps and lists, each a YAML document after ``---``."""
