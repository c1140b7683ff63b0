"""How much a document selects, written out without its fragments: told in one walk, before anything else reads it.

A fragment is counted once and remembered, so that a chain of fragments that spread each other twice costs its length
here, and is refused for what it would cost everywhere else.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from trninv.errors import DocumentError

MAX_DEPTH: Final = 14
"""Fields within fields; those of introspection don't count."""
MAX_ALIASES: Final = 50
MAX_TOKENS: Final = 5_000
MAX_SELECTIONS: Final = MAX_TOKENS
"""Fields, spreads and inline fragments, written out: what a document without fragments may have at most."""
MAX_REPEATS: Final = 50
"""Fields of one name in one place; each is compared with each."""
_MANY: Final = 1_000_000
"""Where counting ends."""


@dataclass(slots=True)
class _Size:
    """Counts of a definition; its own until the fragments that it spreads are added."""

    selections: int = 0
    aliases: int = 0
    depth: int = 0
    spreads: list[tuple[str, int | None]] = field(default_factory=list)
    """Names, and how deep each stands if that counts."""

    def add(self, sizes: Mapping[str, "_Size"]) -> None:
        """Add the fragments that it spreads, which are complete."""
        for name, at in self.spreads:
            if (spread := sizes.get(name)) is not None:
                self.selections = min(self.selections + spread.selections, _MANY)
                self.aliases = min(self.aliases + spread.aliases, _MANY)
                self.depth = self.depth if at is None else min(max(self.depth, at + spread.depth), _MANY)


def check(document: DocumentNode) -> None:
    """Refuse a document that selects too much.

    Raises
    ------
    DocumentError
        It is too deep, repeats itself too often, or its fragments multiply each other.

    """
    fragments = {
        each.name.value: _own(each.selection_set)
        for each in document.definitions
        if isinstance(each, FragmentDefinitionNode)
    }
    for name in _inside_out(fragments):
        fragments[name].add(fragments)
    operations = [
        _own(each.selection_set) for each in document.definitions if isinstance(each, OperationDefinitionNode)
    ]
    for operation in operations:
        operation.add(fragments)
    _refuse(operations, fragments.values())


def _refuse(operations: list[_Size], fragments: Iterable[_Size]) -> None:
    if max((each.depth for each in operations), default=0) > MAX_DEPTH:
        raise DocumentError(f"the document exceeds the maximum operation depth of {MAX_DEPTH}: nest less")
    if (aliases := sum(each.aliases for each in operations)) > MAX_ALIASES:
        raise DocumentError(f"the document has {_told(aliases)} aliases of {MAX_ALIASES} at most: ask in two requests")
    written_out = max(sum(each.selections for each in operations), *(each.selections for each in fragments), 0)
    if written_out > MAX_SELECTIONS:
        raise DocumentError(
            f"the document selects {_told(written_out)} fields of {MAX_SELECTIONS:,} at most, written out without its "
            "fragments: spread fewer fragments, or ask in several requests"
        )


def _told(number: int) -> str:
    return f"{number:,}" if number < _MANY else f"{_MANY:,} or more"


def _own(selections: SelectionSetNode) -> _Size:
    """What a definition has, without the fragments that it spreads."""
    size = _Size()
    left: list[tuple[SelectionSetNode, int | None, Counter[str]]] = [(selections, 0, Counter())]
    while left:
        within, depth, names = left.pop()
        size.selections += len(within.selections)
        size.depth = max(size.depth, depth or 0) if within.selections else size.depth
        for node in within.selections:
            if isinstance(node, FragmentSpreadNode):
                size.spreads.append((node.name.value, depth))
            elif not isinstance(node, FieldNode):
                left.append((node.selection_set, depth, names))  # type: ignore[attr-defined] # an inline fragment
            else:
                size.aliases += node.alias is not None
                _count(names, (node.alias or node.name).value)
                if node.selection_set:
                    below = None if depth is None or node.name.value.startswith("__") else depth + 1
                    left.append((node.selection_set, below, Counter()))
    return size


def _count(names: Counter[str], name: str) -> None:
    names[name] += 1
    if names[name] > MAX_REPEATS:
        raise DocumentError(f"{name[:40]} is selected more than {MAX_REPEATS} times in one place: once is enough")


def _inside_out(fragments: Mapping[str, _Size]) -> Iterable[str]:
    """Names of fragments, each after those that it spreads."""
    known = {name: {spread for spread, _ in size.spreads if spread in fragments} for name, size in fragments.items()}
    try:
        return list(TopologicalSorter(known).static_order())
    except CycleError as error:
        raise DocumentError(f"fragment {error.args[1][0][:40]} spreads itself: leave that out") from None
