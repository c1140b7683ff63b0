"""Write a place in a format as one text, for `Fleet.topology`."""

import io

from trninv.errors import InvalidArgumentError, suggestion
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import find_format, format_names
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE
from trninv.inventory.address.lookup import resolve_place
from trninv.routing.snapshot import Snapshot


def topology_text(
    snapshot: Snapshot,
    scope: str,
    name: str,
    hostname: str | None = None,
    *,
    include_down: bool = False,
    coarse: bool = False,
    check: bool = False,
) -> str:
    """Return a place in the format of a name; if `check` is True, read it back and compare it with the inventory."""
    if name not in format_names():
        raise InvalidArgumentError(f"no format {name!r:.60}: {suggestion(name[:60], format_names())}")
    output_format, place = find_format(name), resolve_place(snapshot.connection, scope)
    source = ExportSource(
        snapshot, place, DEFAULT_TEMPLATE if hostname is None else hostname, include_down=include_down, coarse=coarse
    )
    text = "".join(f"{line}\n" for line in output_format.lines(source))
    if check:
        output_format.verify(source, io.StringIO(text))
    return text
