"""XML that is written element by element, and read so too."""

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, XMLPullParser
from xml.sax.saxutils import quoteattr

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
COMMENT = "<!-- {} -->"


def tag(name: str, /, *, end: str = "/", **attributes: object) -> str:
    """An element without content, or with an empty ``end`` the start of one; for_ gives the attribute for."""
    given = "".join(f" {key.rstrip('_').replace('__', '.')}={quoteattr(str(of))}" for key, of in attributes.items())
    return f"<{name}{given}{end}>"


def elements(lines: Iterable[str]) -> Iterator[Element]:
    """Every element, without its namespace, once it has ended; then it is forgotten, so that a file takes no memory."""
    parser: XMLPullParser[Element] = XMLPullParser(["start", "end"])
    around: list[Element] = []
    for line in lines:
        parser.feed(f"{line}\n")
        for event in parser.read_events():
            match event:
                case "start", Element() as element:
                    around.append(element)
                case "end", Element() as element:
                    around.pop()
                    element.tag = element.tag.rpartition("}")[2]
                    yield element
                    if around:
                        around[-1].remove(element)
    parser.close()
