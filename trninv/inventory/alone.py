"""Choose the only cluster where the caller names no place."""

from typing import Final

from sqlalchemy import Connection, select

from trninv.errors import InvalidArgumentError
from trninv.inventory.address import NO_CLUSTER_MESSAGE
from trninv.inventory.schema import TABLES

_FEW: Final = 6


def only_cluster(connection: Connection) -> str:
    """Return the address of the only cluster, or refuse if there are none or several."""
    cluster = TABLES["cluster"]
    slugs = connection.scalars(select(cluster.c.slug).order_by(cluster.c.id)).all()
    if len(slugs) == 1:
        return str(slugs[0])
    few = ", ".join(slugs[:_FEW]) + (", …" if len(slugs) > _FEW else "")
    raise InvalidArgumentError(
        f"which place? There are {len(slugs)} clusters: name one of {few}" if slugs else NO_CLUSTER_MESSAGE
    )
