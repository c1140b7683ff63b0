"""Cordon servers."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from sqlalchemy import Connection

from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.state.author import check_author
from trninv.placement.allocations.job_allocations import change_transaction
from trninv.placement.allocations.server_cordons import Cordon, insert_cordons, read_cordons, resolve_servers

_T = TABLES


def _render(cordons: Sequence[Cordon]) -> Iterator[str]:
    yield from (f"{cordon.server}: cordoned" for cordon in cordons)
    if not cordons:
        yield "already cordoned"


@change(
    scope="operate",
    returns={"cordons": "Cordons that started or ended."},
    payload="CordonPayload",
    undo="`trninv uncordon SERVER…` uncordons them.",
    render=_render,
    examples=('cordon u-trn2x64/d0/s3 --why "new firmware"',),
)
def cordon(
    connection: Connection,
    places: Annotated[
        Sequence[str],
        Argument("Servers, or racks and domains for all their servers.", name="servers", metavar="SERVER…"),
    ],
    *,
    who: str,
    why: str,
    source: str = "command",
) -> list[Cordon]:
    """Cordon servers, so that they take no new jobs.

    Running jobs continue. A rack or domain stands for all of its servers. Servers that are already cordoned keep their
    cordon.
    """
    check_author(who, why)
    cordon_table = _T["cordon"]
    with change_transaction(connection, who=who, why=why, source=source) as time:
        first_id = next_id(connection, cordon_table)
        insert_cordons(connection, dict.fromkeys(resolve_servers(connection, places), why), who, time)
    return read_cordons(connection, cordon_table.c.id >= first_id)  # only the new cordons
