"""Limit the size of a document with its fragments expanded, before anything else reads it.

Each fragment is counted once, so that a chain of fragments that spread each other twice takes linear time here; it is
refused because every later step would take exponential time.
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
"""Nested fields; introspection fields don't count."""
MAX_ALIASES: Final = 50
MAX_TOKENS: Final = 5_000
MAX_SELECTIONS: Final = MAX_TOKENS
"""Fields, spreads and inline fragments after expansion: as many as a document without fragments could have."""
MAX_REPEATS: Final = 50
"""Fields of one name in one selection set: validation compares all pairs."""
_MAX_COUNT: Final = 1_000_000
"""Counts are capped here."""


@dataclass(slots=True)
class _SelectionCounts:
    """Counts of a definition: its own, until `add` includes the fragments that it spreads."""

    selections: int = 0
    aliases: int = 0
    depth: int = 0
    spreads: list[tuple[str, int | None]] = field(default_factory=list)
    """Names and depths of spreads; depth None below introspection fields."""

    def add(self, sizes: Mapping[str, "_SelectionCounts"]) -> None:
        """Add the counts of spread fragments, which must be complete."""
        for name, depth in self.spreads:
            if (spread := sizes.get(name)) is not None:
                self.selections = min(self.selections + spread.selections, _MAX_COUNT)
                self.aliases = min(self.aliases + spread.aliases, _MAX_COUNT)
                self.depth = self.depth if depth is None else min(max(self.depth, depth + spread.depth), _MAX_COUNT)


def check_size(document: DocumentNode) -> None:
    """Refuse a document that selects too much.

    Raises
    ------
    DocumentError
        It is too deep, repeats itself too often, or its fragments multiply each other.

    """
    fragments = {
        definition.name.value: _count_definition(definition.selection_set)
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    for name in _order_fragments(fragments):
        fragments[name].add(fragments)
    operations = [
        _count_definition(definition.selection_set)
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    for operation in operations:
        operation.add(fragments)
    _check_counts(operations, fragments.values())


def _check_counts(operations: list[_SelectionCounts], fragments: Iterable[_SelectionCounts]) -> None:
    if max((counts.depth for counts in operations), default=0) > MAX_DEPTH:
        raise DocumentError(f"the document exceeds the maximum operation depth of {MAX_DEPTH}: nest less")
    if (aliases := sum(counts.aliases for counts in operations)) > MAX_ALIASES:
        raise DocumentError(
            f"the document has {_format_count(aliases)} aliases of {MAX_ALIASES} at most: ask in two requests"
        )
    selections = max(sum(counts.selections for counts in operations), *(counts.selections for counts in fragments), 0)
    if selections > MAX_SELECTIONS:
        raise DocumentError(
            f"the document selects {_format_count(selections)} fields of {MAX_SELECTIONS:,} at most, "
            "written out without its fragments: spread fewer fragments, or ask in several requests"
        )


def _format_count(number: int) -> str:
    return f"{number:,}" if number < _MAX_COUNT else f"{_MAX_COUNT:,} or more"


def _count_definition(selections: SelectionSetNode) -> _SelectionCounts:
    """Count a definition's selections, without the fragments that it spreads."""
    counts = _SelectionCounts()
    stack: list[tuple[SelectionSetNode, int | None, Counter[str]]] = [(selections, 0, Counter())]
    while stack:
        selection_set, depth, names = stack.pop()
        counts.selections += len(selection_set.selections)
        counts.depth = max(counts.depth, depth or 0) if selection_set.selections else counts.depth
        for node in selection_set.selections:
            if isinstance(node, FragmentSpreadNode):
                counts.spreads.append((node.name.value, depth))
            elif not isinstance(node, FieldNode):
                stack.append((node.selection_set, depth, names))  # type: ignore[attr-defined] # an inline fragment
            else:
                counts.aliases += node.alias is not None
                _count_name(names, (node.alias or node.name).value)
                if node.selection_set:
                    depth_below = None if depth is None or node.name.value.startswith("__") else depth + 1
                    stack.append((node.selection_set, depth_below, Counter()))
    return counts


def _count_name(names: Counter[str], name: str) -> None:
    names[name] += 1
    if names[name] > MAX_REPEATS:
        raise DocumentError(f"{name[:40]} is selected more than {MAX_REPEATS} times in one place: once is enough")


def _order_fragments(fragments: Mapping[str, _SelectionCounts]) -> Iterable[str]:
    """Order fragments so that each follows those that it spreads."""
    spreads_by_fragment = {
        name: {spread for spread, _ in counts.spreads if spread in fragments} for name, counts in fragments.items()
    }
    try:
        return list(TopologicalSorter(spreads_by_fragment).static_order())
    except CycleError as error:
        raise DocumentError(f"fragment {error.args[1][0][:40]} spreads itself: leave that out") from None
