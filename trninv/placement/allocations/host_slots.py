"""Map the host names in a scheduler's job listing to slots, for `trninv.placement.allocations.job_import`.

A slot is a server's place in the design, in the table ``server``. A host is in the slot that its instance is bound to;
without a binding, a name such as rainier-d17-s2 identifies the slot (cluster, domain, server).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlalchemy import Connection, exists, select

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.importers.scheduler_job import SchedulerJob
from trninv.inventory.address.expressions import join_containers
from trninv.inventory.address.machine_names import unique_full_names
from trninv.placement.allocations.allocation_rows import server_addresses

_T: Final = TABLES
_TEMPLATE = re.compile(r"(.+)-d(0|[1-9]\d{0,6})-s(0|[1-9]\d{0,2})", re.ASCII)
"""The host name that ``trninv place`` and ``trninv topology`` print for a server without a bound host."""


class HostSlots:
    """The slots of the hosts in a job listing, and the chips in these slots.

    Attributes
    ----------
    servers
        Id of each host's slot; hosts without a slot are missing.
    chips
        Ids of the chips in each slot, by slot id and by ordinal in the server.
    cluster_ids
        Id of each slot's cluster.
    jobs_per_host
        Number of jobs on each host that may have chips there which the listing does not name.
    lists_chips
        Whether the listing names or counts the chips of any job.

    """

    def __init__(self, connection: Connection, jobs: Sequence[SchedulerJob]) -> None:
        allocations = [allocation for job in jobs for allocation in job.allocations]
        hosts = {allocation.host for allocation in allocations}
        self.servers = dict(_by_binding(connection, hosts))
        self.servers |= _by_template(connection, hosts - set(self.servers))
        self.chips: dict[int, dict[int, int]] = {}
        self.cluster_ids: dict[int, int] = {}
        self.jobs_per_host = Counter(
            allocation.host for allocation in allocations if allocation.chips is None and allocation.count != 0
        )
        self.lists_chips = any(allocation.chips or allocation.count for allocation in allocations)
        chip, node = _T["chip"], _T["node"]
        columns = chip.c.server_id, chip.c.ordinal, chip.c.id, node.c.cluster_id
        query = select(*columns).join(node, node.c.id == chip.c.id)
        for batch in batches(sorted(set(self.servers.values()))):
            for row in connection.execute(query.where(chip.c.server_id.in_(batch))):
                self.chips.setdefault(row.server_id, {})[row.ordinal] = row.id
                self.cluster_ids[row.server_id] = row.cluster_id

    def chip_addresses(self, connection: Connection) -> dict[int, str]:
        """Return the address of each chip in the slots, by id."""
        addresses = server_addresses(connection, self.chips)
        return {
            chip_id: f"{addresses[server]}/c{ordinal}"
            for server, chips in self.chips.items()
            for ordinal, chip_id in chips.items()
        }


def _by_binding(connection: Connection, hosts: set[str]) -> Iterator[tuple[str, int]]:
    """Yield hosts with the slots they are bound to.

    A host without its DNS domain matches a full name if that is unambiguous: trn-17 in a listing is in the slot that
    trn-17.example.com is bound to.
    """
    binding = _T["binding"]
    query = select(binding.c.host, binding.c.server_id).where(binding.c.ended_at.is_(None), binding.c.host.is_not(None))
    servers_by_host = {row.host: row.server_id for row in connection.execute(query)}
    full_names = unique_full_names(servers_by_host)
    for host in hosts:
        server = servers_by_host.get(host, servers_by_host.get(full_names.get(host, "")))
        if server is not None:
            yield host, server


def _by_template(connection: Connection, hosts: Iterable[str]) -> dict[str, int]:
    """Return the slots of hosts whose names match the template; a slot with a bound host is skipped."""
    hosts_by_slot = {
        (match[1], int(match[2]), int(match[3])): host for host in hosts if (match := _TEMPLATE.fullmatch(host))
    }
    if not hosts_by_slot:
        return {}
    server, domain, cluster, binding = (_T[name] for name in ("server", "domain", "cluster", "binding"))
    has_bound_host = binding.c.server_id == server.c.id, binding.c.ended_at.is_(None), binding.c.host.is_not(None)
    query = (
        select(server.c.id, cluster.c.slug, domain.c.ordinal.label("domain"), server.c.ordinal)
        .select_from(join_containers("server"))
        .where(cluster.c.slug.in_({slug for slug, _, _ in hosts_by_slot}), ~exists().where(*has_bound_host))
    )
    slots: dict[str, int] = {}
    for row in connection.execute(query):
        if (host := hosts_by_slot.get((row.slug, row.domain, row.ordinal))) is not None:
            slots[host] = row.id
    return slots
