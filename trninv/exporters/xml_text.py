"""Write and read XML one element at a time."""

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, XMLPullParser
from xml.sax.saxutils import quoteattr

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
