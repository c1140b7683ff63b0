"""Where the hosts of a listing of jobs stand: by what is bound to a slot, or by what a slot is called."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlalchemy import Connection, exists, select

from trninv.importers.held import Held
from trninv.inventory.named import long_names
from trninv.inventory.schema import TABLES
from trninv.jobs.taking import batches, server_names

_T: Final = TABLES
_TEMPLATE = re.compile(r"(.+)-d(0|[1-9]\d{0,6})-s(0|[1-9]\d{0,2})", re.ASCII)
"""What ``fits`` and ``topology`` call a server that no host is bound to."""


class Slots:
    """Where hosts stand, and what stands there."""

    def __init__(self, connection: Connection, jobs: Sequence[Held]) -> None:
        hosts = {part.host for job in jobs for part in job.parts}
        self.servers = dict(_bound(connection, hosts))
        self.servers |= _called(connection, hosts - set(self.servers))
        self.chips: dict[int, dict[int, int]] = {}
        self.cluster: dict[int, int] = {}
        self.sharing = Counter(
            part.host for job in jobs for part in job.parts if part.chips is None and part.count != 0
        )
        self.says_chips = any(part.chips or part.count for job in jobs for part in job.parts)
        chip, node = _T["chip"], _T["node"]
        columns = chip.c.server_id, chip.c.ordinal, chip.c.id, node.c.cluster_id
        query = select(*columns).join(node, node.c.id == chip.c.id)
        for keys in batches(sorted(set(self.servers.values()))):
            for row in connection.execute(query.where(chip.c.server_id.in_(keys))):
                self.chips.setdefault(row.server_id, {})[row.ordinal] = row.id
                self.cluster[row.server_id] = row.cluster_id

    def places(self, connection: Connection) -> dict[int, str]:
        """The address of each chip."""
        named = server_names(connection, self.chips)
        return {key: f"{named[server]}/c{at}" for server, chips in self.chips.items() for at, key in chips.items()}


def _bound(connection: Connection, hosts: set[str]) -> Iterator[tuple[str, int]]:
    """Hosts that are bound to a slot, by their names or, where that is one only, by their names without a domain."""
    binding = _T["binding"]
    query = select(binding.c.host, binding.c.server_id).where(binding.c.until.is_(None), binding.c.host.is_not(None))
    known = {row.host: row.server_id for row in connection.execute(query)}
    longer = long_names(known)
    for host in hosts:
        if (key := known.get(host, known.get(longer.get(host, "")))) is not None:
            yield host, key


def _called(connection: Connection, hosts: Iterable[str]) -> dict[str, int]:
    """Hosts by what the template calls the slots that no host is bound to."""
    wanted = {(at[1], int(at[2]), int(at[3])): host for host in hosts if (at := _TEMPLATE.fullmatch(host))}
    if not wanted:
        return {}
    server, domain, cluster, binding = (_T[name] for name in ("server", "domain", "cluster", "binding"))
    has_host = binding.c.server_id == server.c.id, binding.c.until.is_(None), binding.c.host.is_not(None)
    query = (
        select(server.c.id, cluster.c.slug, domain.c.ordinal.label("domain"), server.c.ordinal)
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
        .where(cluster.c.slug.in_({slug for slug, _, _ in wanted}), ~exists().where(*has_host))
    )
    found = ((wanted.get((row.slug, row.domain, row.ordinal)), row.id) for row in connection.execute(query))
    return {host: key for host, key in found if host is not None}
