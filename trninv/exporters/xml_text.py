"""XML that is written element by element, and read so too."""

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, XMLPullParser
from xml.sax.saxutils import quoteattr

XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
XML_COMMENT = "<!-- {} -->"


def format_tag(name: str, /, *, end: str = "/", **attributes: object) -> str:
    """An element without content, or with an empty ``end`` the start of one; for_ gives the attribute for."""
    attribute_text = "".join(
        f" {key.rstrip('_').replace('__', '.')}={quoteattr(str(value))}" for key, value in attributes.items()
    )
    return f"<{name}{attribute_text}{end}>"


def read_elements(lines: Iterable[str]) -> Iterator[Element]:
    """Every element, without its namespace, once it has ended; then it is forgotten, so that a file takes no memory."""
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
