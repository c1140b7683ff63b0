"""Uncordon servers."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from sqlalchemy import Connection, and_, select, update

from trninv.database.tables import TABLES
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.job_allocations import UNKNOWN_USER, change_transaction
from trninv.placement.allocations.server_cordons import Cordon, read_cordons, resolve_servers

_T = TABLES


def _render(cordons: Sequence[Cordon]) -> Iterator[str]:
    yield from (f"{cordon.server}: uncordoned" for cordon in cordons)
    if not cordons:
        yield "not cordoned"


@change(
    scope="operate",
    returns={"cordons": "Cordons that started or ended."},
    payload="CordonPayload",
    undo="`trninv cordon SERVER…` cordons them again.",
    render=_render,
    examples=("uncordon u-trn2x64/d0/s3",),
)
def uncordon(
    connection: Connection,
    places: Annotated[
        Sequence[str],
        Argument("Servers, or racks and domains for all their servers.", name="servers", metavar="SERVER…"),
    ],
    *,
    who: str = "",
    why: str = "",
    source: str = "command",
) -> list[Cordon]:
    """Uncordon servers, so that they take new jobs again."""
    cordon_table = _T["cordon"]
    with change_transaction(connection, who=who or UNKNOWN_USER, why=why, source=source) as time:
        is_open = and_(
            cordon_table.c.server_id.in_(resolve_servers(connection, places)), cordon_table.c.ended_at.is_(None)
        )
        keys = list(connection.scalars(select(cordon_table.c.id).where(is_open)))
        connection.execute(update(cordon_table).where(cordon_table.c.id.in_(keys)).values(ended_at=time))
    return read_cordons(connection, cordon_table.c.id.in_(keys))
