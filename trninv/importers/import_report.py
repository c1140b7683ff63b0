"""What became of imported files, and what they did not report although their source should."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from trninv.catalog.instance_types import UnclaimedType
from trninv.importers.kinds import EXPECTED
from trninv.importers.observed import shorten_keys
from trninv.units import pluralize


@dataclass(frozen=True, slots=True)
class MissingField:
    """A field that a source should report, and of how many of a file's servers it did not.

    Attributes
    ----------
    field
        A column of ``observed_server`` or ``observed_chip``; that of a chip is missing where any chip is without it.
    source_field
        Where the source has it.

    """

    field: str
    source_field: str
    servers: int


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of a file.

    Attributes
    ----------
    is_known
        Whether the same content was imported before: then it has only been seen once more.
    missing_fields
        Expected fields that it does not report of some or all of its servers.
    unknown_keys
        Keys that the reader does not know, and so does not read; empty of a file that was known.
    unread
        What else it did not read, where and why, the first of many; empty of a file that was known.
    unclaimed
        Types that no model in the catalog claims, with how many servers are of them.

    """

    name: str
    servers: int
    chips: int
    is_known: bool
    missing_fields: tuple[MissingField, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unclaimed: tuple[UnclaimedType, ...] = ()


def describe_missing_fields(kind: str, servers: Counter[str]) -> tuple[MissingField, ...]:
    """Return the fields that are missing of so many servers, with where a source of this kind has them."""
    return tuple(MissingField(name, EXPECTED[kind].get(name, name), servers[name]) for name in sorted(servers))


def render_unreported(files: Iterable[ImportResult]) -> Iterator[str]:
    """Yield, for a terminal, what all files together did not report, and the keys that were not read."""
    files = list(files)
    servers, missing = sum(file.servers for file in files), dict[str, MissingField]()
    for file in files:
        for missing_field in file.missing_fields:
            previous = missing.get(missing_field.field)
            missing[missing_field.field] = replace(
                missing_field, servers=missing_field.servers + (previous.servers if previous else 0)
            )
    for missing_field in missing.values():
        yield (
            f"not reported: {missing_field.field} ({missing_field.source_field}) of "
            f"{missing_field.servers:,} of {pluralize(servers, 'server')}"
        )
    if unread_keys := shorten_keys({key for file in files for key in file.unknown_keys}):
        yield f"not read: unknown keys {', '.join(unread_keys)}"
    for what in sorted({what for file in files for what in file.unread}):
        yield f"not read: {what}"
