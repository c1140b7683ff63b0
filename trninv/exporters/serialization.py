"""Define file syntaxes, which write values line by line and read them back to verify a file; declare JSON and XML.

Other syntaxes have modules of their own, which only the formats that need them import.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final, NamedTuple, TextIO
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

HASH_COMMENT: Final = "# {}"
"""The template of a comment line in most syntaxes."""


def _itself(value: Any) -> Iterator[Any]:
    yield value


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """A syntax of files.

    Attributes
    ----------
    write
        Yields the lines of a value, without line ends.
    read
        Yields the values of a file, by code that is independent of `write`.
    flatten
        Yields what `read` must yield for a written value.
    comment_template
        A comment line with {} for its text; empty if there are no comments.
    header_lines
        Lines before all comments.

    """

    write: Callable[[Any], Iterator[str]]
    read: Callable[[TextIO], Iterable[Any]]
    flatten: Callable[[Any], Iterator[Any]] = _itself
    comment_template: str = HASH_COMMENT
    header_lines: tuple[str, ...] = ()


class JsonDocument(NamedTuple):
    """A JSON object of any size.

    Attributes
    ----------
    skeleton
        The object, in which some lists and objects are still empty.
    members
        What fills each of them, in order: values for a list, and pairs of key and value for an object.

    """

    skeleton: dict[str, Any]
    members: Sequence[Iterable[Any]]


_JSON_GAP: Final = re.compile(r"(?<=\[)(?=\])|(?<=\{)(?=\})")
"""The position between the brackets of an empty list or object."""
_JSON_MEMBERS: Final = re.compile(r"(?<=[\[{])0(?:,0)*+(?=[\]}])")
"""The members of a list or object, each of which `_read_json` replaces by 0."""


def json_text(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def _json_lines(document: JsonDocument) -> Iterator[str]:
    """Yield a document with one member per line, so that it can be read back in little memory."""
    first, *others = _JSON_GAP.split(json_text(document.skeleton))
    yield first
    for members, part in zip(document.members, others, strict=True):
        previous = None
        for member in members:
            if previous is not None:
                yield f"{previous},"
            previous = ": ".join(map(json_text, member)) if isinstance(member, tuple) else json_text(member)
        if previous is not None:
            yield previous
        yield part


def _json_values(document: JsonDocument) -> Iterator[Any]:
    for members in document.members:
        yield from members
    yield document.skeleton


def _read_json(file: TextIO) -> Iterator[Any]:
    """Yield the members, then the skeleton; the text around the members is also checked to be JSON."""
    skeleton = StringIO()
    for line in file:
        text = line.rstrip("\n")
        if text.endswith(("[", "{")) or text.startswith(("]", "}")):
            skeleton.write(text)
            continue
        member = text.removesuffix(",")
        skeleton.write("0" + text[len(member) :])
        if member.startswith('"'):  # a member of an object; items of lists are never texts
            yield from json.loads(f"{{{member}}}").items()
        else:
            yield json.loads(member)
    yield json.loads(_JSON_MEMBERS.sub("", skeleton.getvalue()))


JSON: Final = Syntax(write=_json_lines, read=_read_json, flatten=_json_values, comment_template="")
"""The syntax of a `JsonDocument`."""


class XmlElement(NamedTuple):
    """An XML element; its content is a text, a tuple of elements on the same line, or any number of lines of elements.

    A namespace is an attribute like others.
    """

    tag: str
    attributes: Mapping[str, str]
    content: "str | tuple[XmlElement, ...] | Iterable[XmlElement]"


def xml_element(
    tag: str, content: str | tuple[XmlElement, ...] | Iterable[XmlElement] = (), /, **attributes: object
) -> XmlElement:
    """Return an element.

    In the names of attributes, a last ``_`` is dropped, as in ``for_`` and ``class_``, and ``__`` stands for a dot.
    """
    texts = {name.rstrip("_").replace("__", "."): str(value) for name, value in attributes.items()}
    return XmlElement(tag, texts, content)


def _xml_lines(element: XmlElement) -> Iterator[str]:
    if isinstance(element.content, str | tuple):
        yield _xml_line(element)
        return
    yield f"<{_xml_start(element)}>"
    for child in element.content:
        yield from _xml_lines(child)
    yield f"</{element.tag}>"


def _xml_line(element: XmlElement) -> str:
    is_text = isinstance(element.content, str)
    content = escape(element.content) if is_text else "".join(map(_xml_line, element.content))  # type: ignore[arg-type]
    return f"<{_xml_start(element)}>{content}</{element.tag}>" if content else f"<{_xml_start(element)}/>"


def _xml_start(element: XmlElement) -> str:
    attributes = [
        f' {name}="{value}"' if _PLAIN_VALUE.fullmatch(value) else f" {name}={quoteattr(value)}"
        for name, value in element.attributes.items()
    ]
    return element.tag + "".join(attributes)


_PLAIN_VALUE: Final = re.compile(r"[-\w./ ]*", re.ASCII)
"""A value that needs no escapes, for which the slow quoteattr can be skipped."""


def _xml_events(element: XmlElement) -> Iterator[tuple[Any, ...]]:
    """Yield the events that an XML parser reports for an element."""
    yield "start", element.tag, element.attributes
    if isinstance(element.content, str):
        if element.content:
            yield "text", element.content
    else:
        for child in element.content:
            yield from _xml_events(child)
    yield "end", element.tag


_CHUNK_SIZE: Final = 1 << 16


def _read_xml(file: TextIO) -> Iterator[tuple[Any, ...]]:
    """Yield the parser's events rather than a tree, whose size would grow with the file."""
    events: list[tuple[Any, ...]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: events.append(("start", tag, attributes))
    parser.EndElementHandler = lambda tag: events.append(("end", tag))
    parser.CharacterDataHandler = lambda text: text != "\n" and events.append(("text", text))  # type: ignore[func-returns-value]
    while lines := file.readlines(_CHUNK_SIZE):  # whole lines, so that no text is reported in parts
        parser.Parse("".join(lines))
        yield from events
        events.clear()
    parser.Parse("", True)


XML: Final = Syntax(
    write=_xml_lines,
    read=_read_xml,
    flatten=_xml_events,
    comment_template="<!-- {} -->",
    header_lines=('<?xml version="1.0" encoding="UTF-8"?>',),
)
"""The syntax of an `XmlElement`."""
