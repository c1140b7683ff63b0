"""Map host names in a job listing to slots, by binding or by a naming template."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlalchemy import Connection, exists, select

from trninv.database.tables import TABLES
from trninv.importers.scheduler_job import SchedulerJob
from trninv.inventory.address.machine_names import unique_full_names
from trninv.placement.allocations.allocation_rows import batches, server_addresses

_T: Final = TABLES
_TEMPLATE = re.compile(r"(.+)-d(0|[1-9]\d{0,6})-s(0|[1-9]\d{0,2})", re.ASCII)
"""The host name that ``place`` and ``topology`` give a server without a bound host."""


class HostSlots:
    """The slots of hosts, and the chips in these slots."""

    def __init__(self, connection: Connection, jobs: Sequence[SchedulerJob]) -> None:
        hosts = {part.host for job in jobs for part in job.allocations}
        self.servers = dict(_by_binding(connection, hosts))
        self.servers |= _by_template(connection, hosts - set(self.servers))
        self.chips: dict[int, dict[int, int]] = {}
        self.cluster_ids: dict[int, int] = {}
        self.jobs_per_host = Counter(
            part.host for job in jobs for part in job.allocations if part.chips is None and part.count != 0
        )
        self.lists_chips = any(part.chips or part.count for job in jobs for part in job.allocations)
        chip, node = _T["chip"], _T["node"]
        columns = chip.c.server_id, chip.c.ordinal, chip.c.id, node.c.cluster_id
        query = select(*columns).join(node, node.c.id == chip.c.id)
        for keys in batches(sorted(set(self.servers.values()))):
            for row in connection.execute(query.where(chip.c.server_id.in_(keys))):
                self.chips.setdefault(row.server_id, {})[row.ordinal] = row.id
                self.cluster_ids[row.server_id] = row.cluster_id

    def chip_addresses(self, connection: Connection) -> dict[int, str]:
        """Return the address of each chip."""
        addresses = server_addresses(connection, self.chips)
        return {
            key: f"{addresses[server]}/c{ordinal}"
            for server, chips in self.chips.items()
            for ordinal, key in chips.items()
        }


def _by_binding(connection: Connection, hosts: set[str]) -> Iterator[tuple[str, int]]:
    """Yield bound hosts with their slots, by name or, if that is unambiguous, by name without domain."""
    binding = _T["binding"]
    query = select(binding.c.host, binding.c.server_id).where(binding.c.ended_at.is_(None), binding.c.host.is_not(None))
    servers_by_host = {row.host: row.server_id for row in connection.execute(query)}
    full_names = unique_full_names(servers_by_host)
    for host in hosts:
        if (key := servers_by_host.get(host, servers_by_host.get(full_names.get(host, "")))) is not None:
            yield host, key


def _by_template(connection: Connection, hosts: Iterable[str]) -> dict[str, int]:
    """Return the slots of hosts that are named by the template; only slots without a bound host."""
    hosts_by_slot = {
        (match[1], int(match[2]), int(match[3])): host for host in hosts if (match := _TEMPLATE.fullmatch(host))
    }
    if not hosts_by_slot:
        return {}
    server, domain, cluster, binding = (_T[name] for name in ("server", "domain", "cluster", "binding"))
    has_host = binding.c.server_id == server.c.id, binding.c.ended_at.is_(None), binding.c.host.is_not(None)
    query = (
        select(server.c.id, cluster.c.slug, domain.c.ordinal.label("domain"), server.c.ordinal)
        .join(domain, domain.c.id == server.c.domain_id)
        .join(cluster, cluster.c.id == domain.c.cluster_id)
        .where(cluster.c.slug.in_({slug for slug, _, _ in hosts_by_slot}), ~exists().where(*has_host))
    )
    pairs = ((hosts_by_slot.get((row.slug, row.domain, row.ordinal)), row.id) for row in connection.execute(query))
    return {host: key for host, key in pairs if host is not None}
