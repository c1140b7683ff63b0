"""Write a shell script with scontrol commands that create the reservations in Slurm.

Times are seconds since 1970 (``uts``), because Slurm reads other times in the time zone of the machine.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from trninv.exporters import schedulers
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Comment, Format
from trninv.exporters.reserved_servers import ReservedServers
from trninv.exporters.slurm_settings import RESERVATIONS

_UNSAFE: Final = re.compile(r"[^\w.-]", re.ASCII)
"""Characters of a name that Slurm or a shell could read as something else."""


def _content(source: ExportSource) -> Iterator[Any]:
    names = {server.location[1:]: server.name for server in schedulers.slurm_servers(source)}
    written = [(reserved, [names[key] for key in reserved.servers if key in names]) for reserved in source.reservations]
    if not any(nodes for _, nodes in written):
        yield Comment("nothing is reserved")
        return
    yield Comment("scontrol update ReservationName=NAME Users=USER,… gives a reservation to other users than root")
    for reserved, nodes in written:
        if nodes:
            if not all(reserved.servers.values()):
                yield Comment(f"{_name(reserved)}: Slurm reserves whole servers; only some of their chips are reserved")
            yield _settings(reserved, nodes)


def _settings(reserved: ReservedServers, nodes: list[str]) -> dict[str, Any]:
    start, end = (
        int(datetime.fromisoformat(time).timestamp()) for time in (reserved.window.start, reserved.window.end)
    )
    flags = {"Flags": "MAINT,IGNORE_JOBS"} if reserved.is_maintenance else {}
    times = {"StartTime": f"uts{start}", "EndTime": f"uts{end}"}
    return {"ReservationName": _name(reserved)} | times | {"Nodes": nodes, "Users": "root"} | flags


def _name(reserved: ReservedServers) -> str:
    return _UNSAFE.sub("_", reserved.name)[: schedulers.MAX_SLURM_NAME_LENGTH]


FORMAT = Format(
    name="slurm-reservations",
    suffix=".sh",
    description="scontrol commands, as a shell script, that create the reservations of whole servers",
    syntax=RESERVATIONS,
    content=_content,
)
