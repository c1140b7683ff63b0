"""Write and read the subsets of JSON, XML and YAML that the formats need.

A text is unquoted only if no version of YAML reads it as something else, unlike NO, on, 1:30 or 0x1f.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final
from xml.etree.ElementTree import Element, XMLPullParser
from xml.sax.saxutils import quoteattr

from trninv.errors import UsageError


def json_text(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def json_list(members: Iterable[str]) -> Iterator[str]:
    """Yield members with a comma after each but the last."""
    previous = None
    for member in members:
        if previous is not None:
            yield f"{previous},"
        previous = member
    if previous is not None:
        yield previous


def read_json_members(lines: Iterable[str]) -> Iterator[Any]:
    """Yield what has a line of its own: objects of a list, and members of a map, each as a map with one key."""
    for line in lines:
        bare = line.strip().removesuffix(",")
        if bare.endswith("}") and bare[:1] == "{":
            yield json.loads(bare)
        elif bare.endswith("}") and bare[:1] == '"':
            yield json.loads(f"{{{bare}}}")


XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
XML_COMMENT = "<!-- {} -->"


def format_tag(name: str, /, *, end: str = "/", **attributes: object) -> str:
    """Return an empty element, or with an empty ``end`` a start tag; ``for_`` becomes ``for``, and ``__`` a dot."""
    attribute_text = "".join(
        f" {key.rstrip('_').replace('__', '.')}={quoteattr(str(value))}" for key, value in attributes.items()
    )
    return f"<{name}{attribute_text}{end}>"


def read_elements(lines: Iterable[str]) -> Iterator[Element]:
    """Yield each element at its end, without its namespace, then remove it from its parent to bound memory."""
    parser: XMLPullParser[Element] = XMLPullParser(["start", "end"])
    open_elements: list[Element] = []
    for line in lines:
        parser.feed(f"{line}\n")
        for event in parser.read_events():
            match event:
                case "start", Element() as element:
                    open_elements.append(element)
                case "end", Element() as element:
                    open_elements.pop()
                    element.tag = element.tag.rpartition("}")[2]
                    yield element
                    if open_elements:
                        open_elements[-1].remove(element)
    parser.close()


_BARE_TEXT: Final = re.compile(r"[A-Za-z_/][-\w./]*(?:\[[-\d,]+\][-\w.]*)*", re.ASCII)
_RESERVED_WORDS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_KEY: Final = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s"][^:\s]*):(?: (.*))?')
_INDENT: Final = 2


def yaml_document(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    """Yield the lines of a map or list."""
    return _map_lines(value, "") if isinstance(value, Mapping) else _list_lines(value, "")


def _map_lines(value: Mapping[str, Any], pad: str) -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, Mapping | list | tuple) and item:
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
    """Return a key, quoted if need be; y stays bare, because Slurm does not accept it in quotes."""
    return key if key == "y" else _format_scalar(key)


def _format_scalar(value: object) -> str:
    if isinstance(value, str) and _BARE_TEXT.fullmatch(value) and value.lower() not in _RESERVED_WORDS:
        return value
    return json.dumps(value)


def read_yaml_documents(lines: Iterable[str]) -> Iterator[Any]:
    """Yield the values of documents in this part of YAML, separated by ---.

    Raises
    ------
    UsageError
        A line is not in this part of YAML.

    """
    rows = (line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    for is_separator, group in groupby(rows, lambda line: line == "---"):
        if not is_separator:
            remaining = [(len(line) - len(line.lstrip()), line.strip()) for line in reversed(list(group))]
            yield _parse_block(remaining, remaining[-1][0])
            if remaining:
                raise UsageError(f"not YAML that trninv writes: {remaining[-1][1][:80]!r}")


def _parse_block(remaining: list[tuple[int, str]], indent: int) -> Any:
    """Parse the map or list at the end of the reversed remaining lines, and remove its lines."""
    if remaining[-1][1].startswith("- "):
        items = []
        while remaining and remaining[-1][0] == indent and remaining[-1][1].startswith("- "):
            text = remaining.pop()[1][_INDENT:]
            if _KEY.fullmatch(text):
                remaining.append((indent + _INDENT, text))
                items.append(_parse_block(remaining, indent + _INDENT))
            else:
                items.append(_parse_scalar(text))
        return items
    mapping = {}
    while remaining and remaining[-1][0] == indent and (pair := _KEY.fullmatch(remaining[-1][1])):
        remaining.pop()
        key, text = json.loads(pair[1]) if pair[1][0] == '"' else pair[1], pair[2]
        if key in mapping:
            raise UsageError(f"the key {key} is repeated")
        mapping[key] = (
            _parse_block(remaining, remaining[-1][0])
            if text is None and remaining and remaining[-1][0] > indent
            else _parse_scalar(text or "")
        )
    return mapping


def _parse_scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if _BARE_TEXT.fullmatch(text) and text.lower() not in _RESERVED_WORDS:
            return text
        raise UsageError(f"not YAML that trninv writes: {text[:80]!r}") from None
