"""Sum up what each incident takes away: chips, bandwidth, and parts of jobs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.incidents.failures import select_by_ids
from trninv.incidents.incident_context import is_open_then
from trninv.incidents.model import Loss, PartKey, UnhealthyPart
from trninv.inventory.state.condition import carried_bandwidth_expression
from trninv.units import Bandwidth

_LINK, _JOB, _ALLOCATION = (TABLES[name] for name in ("link", "job", "allocation"))
_END_A, _END_B = (TABLES["node"].alias(f"end_{name}") for name in "ab")
_PCIE_SCOPE: Final = "host"
"""The scope of links between chips and NICs, which are neither NeuronLinks nor EFA."""


def load_losses(connection: Connection, groups: Sequence[Sequence[UnhealthyPart]]) -> list[Loss]:
    """Return the loss of each group of unhealthy parts; no part is in two groups.

    A link counts in its own group, or else in that of its first end that has one, so that losses can be added up.
    """
    group_by_part = {part.key: index for index, parts in enumerate(groups) for part in parts}
    # a job is affected by a failure of its chips, and of links, switches and NICs at its chips
    chips = {key: {group} for key, group in group_by_part.items() if key[0] == "node"}
    own_chips = {part.key for parts in groups for part in parts if part.kind == "chip"}
    bandwidths = defaultdict[int, int](int)
    for link in _links_at(connection, group_by_part):
        keys: tuple[PartKey, ...] = ("link", link.id), ("node", link.a_id), ("node", link.b_id)
        owners = {key: group_by_part[key] for key in keys if key in group_by_part}
        if link.scope != _PCIE_SCOPE:
            bandwidths[next(iter(owners.values()))] += link.lost
        for key, group in owners.items():
            if key not in own_chips:
                for end in keys[1:]:
                    chips.setdefault(end, set()).add(group)
    jobs = _jobs_by_group(connection, {number: owning for (_, number), owning in chips.items()})
    return [
        Loss(
            sum(part.kind == "chip" and not part.condition.carries for part in parts),
            Bandwidth(bandwidths[index]),
            tuple(sorted(jobs[index])),
        )
        for index, parts in enumerate(groups)
    ]


def _links_at(connection: Connection, parts: Mapping[PartKey, int]) -> Iterator[Any]:
    """Yield the links that are among some parts or end there, once each, with the bandwidth that each has lost."""
    lost = _LINK.c.bandwidth_bytes_per_s - carried_bandwidth_expression(_LINK, _END_A, _END_B)
    query = select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id, _LINK.c.scope, lost.label("lost"))
    query = query.join(_END_A, _END_A.c.id == _LINK.c.a_id).join(_END_B, _END_B.c.id == _LINK.c.b_id)
    ids = {name: [number for kind, number in parts if kind == name] for name in ("node", "link")}
    yielded = set[int]()
    for column, numbers in ((_LINK.c.id, ids["link"]), (_LINK.c.a_id, ids["node"]), (_LINK.c.b_id, ids["node"])):
        for link in select_by_ids(connection, query, column, numbers):
            if link.id not in yielded:
                yielded.add(link.id)
                yield link


def _jobs_by_group(connection: Connection, groups_by_chip: Mapping[int, set[int]]) -> Mapping[int, set[str]]:
    """Return the names of the jobs that have chips (by id) of each group, as `trninv release` takes them."""
    query = select(_ALLOCATION.c.chip_id, _JOB.c.name, _JOB.c.system, _JOB.c.external_id)
    query = query.join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
    query = query.where(is_open_then(connection, _ALLOCATION.c.started_at, _ALLOCATION.c.ended_at))
    jobs = defaultdict[int, set[str]](set)
    for row in select_by_ids(connection, query, _ALLOCATION.c.chip_id, groups_by_chip):
        for group in groups_by_chip[row.chip_id]:
            jobs[group].add(row.name if row.system == "trninv" else f"{row.system}:{row.external_id}")
    return jobs
