"""Count the domains with a part that is down or degraded, for `trninv.service.fleet_metrics`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, bindparam, literal_column, select, union

from trninv.database.tables import TABLES, is_unhealthy

_CLUSTER, _DOMAIN = TABLES["cluster"], TABLES["domain"]
_KEYS: Final = tuple(TABLES[name].c.domain_id for name in ("server", "node", "link"))
_MAINTENANCE: Final[ColumnElement[str]] = literal_column("'maintenance'")


def _impaired(*, only_changed: bool) -> Select[Any]:
    """Return the query for the impaired domains and their clusters, of all domains or of those named ``domains``."""
    domains: BindParameter[Any] = bindparam("domains", expanding=True)
    parts = (
        select(key).where(
            is_unhealthy(key.table), key.table.c.state != _MAINTENANCE, *([key.in_(domains)] if only_changed else [])
        )
        for key in _KEYS
    )
    return select(_DOMAIN.c.id, _CLUSTER.c.slug).join(_CLUSTER).where(_DOMAIN.c.id.in_(union(*parts)))


_ALL, _CHANGED = _impaired(only_changed=False), _impaired(only_changed=True)


class ImpairedDomains:
    """The impaired domains, by id with the slug of their cluster; not thread safe."""

    def __init__(self) -> None:
        self._clusters = dict[int, str]()

    def read(self, connection: Connection, changed: Sequence[int] | None) -> Counter[tuple[str]]:
        """Return their number by cluster, when the domains ``changed`` (None: any) have changed since the last call."""
        if changed is None:
            self._clusters = {row.id: row.slug for row in connection.execute(_ALL)}
        elif changed:
            for domain in changed:
                self._clusters.pop(domain, None)
            self._clusters |= {row.id: row.slug for row in connection.execute(_CHANGED, {"domains": changed})}
        return Counter((slug,) for slug in self._clusters.values())
