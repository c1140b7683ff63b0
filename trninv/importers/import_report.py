"""Report the result of an import, with the fields that a source should have reported and did not."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from trninv.catalog.instance_types import UnclaimedInstances
from trninv.importers.records import shorten_keys
from trninv.importers.source_readers import EXPECTED
from trninv.units import pluralize


@dataclass(frozen=True, slots=True)
class MissingField:
    """A field that a source should report, with the number of a file's servers that lack it.

    Attributes
    ----------
    field
        A column of ``observed_server`` or ``observed_chip``; a server lacks a chip's field if any of its chips does.
    source_field
        The field's name in the source.

    """

    field: str
    source_field: str
    servers: int


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing one file.

    Attributes
    ----------
    is_known
        Whether the same content was imported before; then only its ``seen_at`` is updated.
    missing_fields
        Expected fields that the file does not report for some or all of its servers.
    unknown_keys
        Keys that the reader does not read; empty if ``is_known``.
    unread
        Other parts that were not read, with place and reason; limited in number, and empty if ``is_known``.
    unclaimed
        Instance types that no model in the catalog claims, with their numbers of servers.

    """

    name: str
    servers: int
    chips: int
    is_duplicate: bool
    missing_fields: tuple[MissingField, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unclaimed_types: tuple[UnclaimedInstances, ...] = ()


def describe_missing_fields(kind: str, servers: Counter[str]) -> tuple[MissingField, ...]:
    """Return the missing fields in order, with the number of servers and the field's name in this kind of source."""
    return tuple(MissingField(name, EXPECTED[kind].get(name, name), servers[name]) for name in sorted(servers))


def render_unreported(files: Iterable[ImportResult]) -> Iterator[str]:
    """Yield lines for a terminal: the fields that all files together did not report, and the keys not read."""
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
    for unread_part in sorted({unread_part for file in files for unread_part in file.unread}):
        yield f"not read: {unread_part}"
