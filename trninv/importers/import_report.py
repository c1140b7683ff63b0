"""Report the result of an import, with the fields that a source should have reported and did not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from trninv.catalog.instance_types import UnclaimedType
from trninv.importers.records import shorten_keys
from trninv.importers.source_register import find_source
from trninv.units import pluralize


@dataclass(slots=True)
class ServerNames:
    """The servers that some records name: by instance, or by a host that no other record names with an instance.

    The same rule makes machines of all observations, in `trninv.reconcile.latest_observations`.
    """

    _instances: set[str] = field(default_factory=set)
    _hosts_of_instances: set[str] = field(default_factory=set)
    _hosts_alone: set[str] = field(default_factory=set)

    def add(self, instance: str | None, host: str | None) -> None:
        """Add the names in a record."""
        if instance is None:
            self._hosts_alone.add(host or "")
            return
        self._instances.add(instance)
        if host is not None:
            self._hosts_of_instances.add(host)

    def count(self) -> int:
        """Return the number of servers."""
        return len(self._instances) + len(self._hosts_alone - self._hosts_of_instances)


class MissingByField(defaultdict[str, ServerNames]):
    """The servers that lack an expected field, by field."""

    def __init__(self) -> None:
        super().__init__(ServerNames)

    def add(self, missing_fields: str | None, instance: str | None, host: str | None) -> None:
        """Add a record with the fields that it lacks, as the column ``missing_fields`` has them."""
        for name in (missing_fields or "").split():
            self[name].add(instance, host)


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
    is_duplicate
        Whether the same content was imported before; then only its ``seen_at`` is updated.
    missing_fields
        Expected fields that the file does not report for some or all of its servers.
    unknown_keys
        Keys that the reader does not read; empty for a duplicate.
    unread
        Other parts that were not read, with position and reason; limited in number, and empty for a duplicate.
    unclaimed_types
        Instance types that no model in the catalog claims, with the number of servers of each type.

    """

    name: str
    servers: int
    chips: int
    is_duplicate: bool
    missing_fields: tuple[MissingField, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unclaimed_types: tuple[UnclaimedType, ...] = ()


def describe_missing_fields(kind: str, missing: Mapping[str, ServerNames]) -> tuple[MissingField, ...]:
    """Return the missing fields by name, with the number of servers that lack each; ``kind`` is the source's name."""
    expected = find_source(kind).expected
    return tuple(MissingField(name, expected.get(name, name), missing[name].count()) for name in sorted(missing))


def render_unreported(files: Iterable[ImportResult]) -> Iterator[str]:
    """Yield lines for a terminal: fields that servers in the files lack, and keys and parts that were not read."""
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
            f"not reported: {missing_field.field} ({missing_field.source_field}) for "
            f"{missing_field.servers:,} of {pluralize(servers, 'server')}"
        )
    if unread_keys := shorten_keys({key for file in files for key in file.unknown_keys}):
        yield f"not read: unknown keys {', '.join(unread_keys)}"
    for part in sorted({part for file in files for part in file.unread}):
        yield f"not read: {part}"
