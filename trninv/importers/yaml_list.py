"""Read files of YAML that hold one named list, with the line of each item, and report all that is wrong at once."""

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeVar

import yaml

from trninv.characters import FORBIDDEN_MESSAGE, has_forbidden_characters
from trninv.errors import InvalidArgumentError, InvalidFileError, TrninvError
from trninv.importers.yaml_parser import YamlError, parse_yaml
from trninv.units import pluralize


class NamedItem(Protocol):
    """An item with a name that no other item has."""

    @property
    def name(self) -> str:
        """Name of the item."""


T = TypeVar("T", bound=NamedItem)
MAX_BYTES: Final = 1 << 20
_ITEM_DEPTH: Final = 2
"""Collections around an item: the file's object and the list."""


def parse_yaml_list(
    raw: bytes,
    file: str,
    root: str,
    parse_item: Callable[[Any, int], T],
    *,
    maximum: int,
    consequence: str,
) -> list[T]:
    """Parse the items of the list named ``root`` in a file, in its order; no two have the same ``name``.

    Parameters
    ----------
    parse_item
        Converts an item, in a line of the file, to a value with a ``name``.
    maximum
        The most items that the list may have.
    consequence
        What an error leads to, in words.

    Raises
    ------
    InvalidFileError
        The file is no such file; the error lists everything that is wrong, with its lines.

    """
    items, problems, lines = list[T](), list[str](), dict[str, int]()
    for line, value in _numbered_items(raw, file, root, maximum, consequence):
        try:
            if has_forbidden_characters(value):
                raise InvalidArgumentError(f"the item {FORBIDDEN_MESSAGE}")
            item = parse_item(value, line)
            if item.name in lines:
                raise InvalidArgumentError(
                    f"line {lines[item.name]} has the same name, {item.name!r}; add another name"
                )
            lines[item.name] = line
            items.append(item)
        except TrninvError as error:
            problems.append(f"{file}:{line}: {error}")
    if problems:
        raise InvalidFileError(f"{pluralize(len(problems), 'error')}; {consequence}", problems)
    return items


def _numbered_items(raw: bytes, file: str, root: str, maximum: int, consequence: str) -> Iterator[tuple[int, Any]]:
    """Yield the items of the list, with their lines."""

    def refuse(message: str, line: int = 1) -> InvalidFileError:
        return InvalidFileError(f"1 error; {consequence}", [f"{file}:{line}: {message}"])

    if len(raw) > MAX_BYTES:
        raise refuse(f"has more than {MAX_BYTES >> 20} MiB")
    try:
        documents = [value for _, value in parse_yaml(raw)]
    except YamlError as error:
        raise refuse(error.message, error.line or 1) from None
    if len(documents) != 1 or not isinstance(documents[0], dict) or list(documents[0]) != [root]:
        raise refuse(f"is not an object whose only key is {root}")
    items = documents[0][root]
    if not isinstance(items, list) or not 0 < len(items) <= maximum:
        raise refuse(f"{root} is not a list of 1 to {maximum:,} items")
    yield from zip(_item_lines(raw), items, strict=True)


def _item_lines(raw: bytes) -> Iterator[int]:
    """Yield the line of each item of the only list in the file's only object."""
    depth = 0
    for event in yaml.parse(raw, Loader=yaml.CSafeLoader):
        if depth == _ITEM_DEPTH and isinstance(event, yaml.NodeEvent):
            yield event.start_mark.line + 1
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
