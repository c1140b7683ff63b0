"""Sum up what each incident takes away: chips, bandwidth, and parts of jobs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, func, literal_column, or_, select

from trninv.database.tables import TABLES
from trninv.incidents.failures import select_by_ids
from trninv.incidents.incident_context import is_open_then
from trninv.incidents.model import Loss, PartKey, UnhealthyPart
from trninv.inventory.state.condition import carried_bandwidth, carried_bandwidth_expression
from trninv.units import Bandwidth

_CLUSTER, _NODE, _LINK, _JOB, _ALLOCATION = (TABLES[name] for name in ("cluster", "node", "link", "job", "allocation"))
_END_A, _END_B = (TABLES["node"].alias(f"end_{name}") for name in "ab")
_PCIE_SCOPE: Final = "host"
"""The scope of links between chips and NICs, which are neither NeuronLinks nor EFA."""
_PLANNED_STATES: Final = frozenset({"up", "maintenance"})


Span = tuple[str, str]
"""When a closed incident began and ended."""


def load_losses(
    connection: Connection, groups: Sequence[Sequence[UnhealthyPart]], span: Span | None = None
) -> list[Loss]:
    """Return the loss of each group of unhealthy parts; no part is in two groups.

    A link counts in its own group, or else in that of its first end that has one, so that losses can be added up.

    Parameters
    ----------
    span
        When the groups were unhealthy, if that is over; other parts count as up then. None: now.
    """
    part_by_key = {part.key: part for parts in groups for part in parts}
    group_by_part = {part.key: index for index, parts in enumerate(groups) for part in parts}
    # a job is affected by a failure of its chips, and of links, switches and NICs at its chips
    chips = {key: {group} for key, group in group_by_part.items() if key[0] == "node"}
    own_chips = {part.key for parts in groups for part in parts if part.kind == "chip"}
    bandwidths, failed_bandwidths = defaultdict[int, int](int), defaultdict[tuple[int, int], int](int)
    for link in _links_at(connection, group_by_part):
        keys: tuple[PartKey, ...] = ("link", link.id), ("node", link.a_id), ("node", link.b_id)
        owners = {key: group_by_part[key] for key in keys if key in group_by_part}
        first_owner = next(iter(owners))
        if link.scope != _PCIE_SCOPE:
            conditions = [part_by_key[key].condition for key in keys if key in part_by_key]
            states = {condition.state for condition in conditions} | ({*link[-3:]} if span is None else set())
            lost = link.lost if span is None else link.bandwidth - carried_bandwidth(link.bandwidth, *conditions)
            bandwidths[owners[first_owner]] += lost
            if not states <= _PLANNED_STATES:
                failed_bandwidths[owners[first_owner], part_by_key[first_owner].location.cluster] += lost
        for key, group in owners.items():
            if key not in own_chips:
                for end in keys[1:]:
                    chips.setdefault(end, set()).add(group)
    jobs = _jobs_by_group(connection, {number: owning for (_, number), owning in chips.items()}, span)
    worth = _worth(connection, groups, failed_bandwidths)
    return [
        Loss(
            sum(part.kind == "chip" and not part.condition.carries for part in parts),
            Bandwidth(bandwidths[index]),
            tuple(sorted(jobs[index])),
            worth[index],
        )
        for index, parts in enumerate(groups)
    ]


def _worth(
    connection: Connection, groups: Sequence[Sequence[UnhealthyPart]], bandwidths: Mapping[tuple[int, int], int]
) -> list[int]:
    """Return what each group is worth in thousandths of a chip.

    Parameters
    ----------
    bandwidths
        The bandwidth that failed, by the index of the group and the id of the cluster.
    """
    chip_bandwidths = {cluster: _chip_bandwidth(connection, cluster) for cluster in {key[1] for key in bandwidths}}
    by_bandwidth = defaultdict[int, int](int)
    for (index, cluster), bandwidth in bandwidths.items():
        if chip_bandwidths[cluster]:
            by_bandwidth[index] += 1_000 * bandwidth // chip_bandwidths[cluster]
    return [
        max(1_000 * sum(part.kind == "chip" and part.condition.state == "down" for part in parts), by_bandwidth[index])
        for index, parts in enumerate(groups)
    ]


def _chip_bandwidth(connection: Connection, cluster: int) -> int:
    """Return the bandwidth of the NeuronLinks at the first chip of a cluster, one direction; 0 if it has none."""
    # the first node of a cluster starts its block of ids, so that no other clusters are searched
    first = select(_CLUSTER.c.first_node_id).where(_CLUSTER.c.id == cluster).scalar_subquery()
    is_chip = _NODE.c.kind == literal_column("'chip'")
    chip = connection.scalar(select(_NODE.c.id).where(_NODE.c.id >= first, is_chip).order_by(_NODE.c.id).limit(1))
    query = select(func.sum(_LINK.c.bandwidth_bytes_per_s)).where(_LINK.c.scope != _PCIE_SCOPE)
    return int(connection.scalar(query.where(or_(_LINK.c.a_id == chip, _LINK.c.b_id == chip))) or 0)


def _links_at(connection: Connection, parts: Mapping[PartKey, int]) -> Iterator[Any]:
    """Yield the links that are among some parts or end there, once each, with their bandwidths and states."""
    lost = _LINK.c.bandwidth_bytes_per_s - carried_bandwidth_expression(_LINK, _END_A, _END_B)
    query = select(
        *(_LINK.c[name] for name in ("id", "a_id", "b_id", "scope")),
        _LINK.c.bandwidth_bytes_per_s.label("bandwidth"),
        lost.label("lost"),
        *(part.c.state.label(f"state_{name}") for name, part in (("link", _LINK), ("a", _END_A), ("b", _END_B))),
    )
    query = query.join(_END_A, _END_A.c.id == _LINK.c.a_id).join(_END_B, _END_B.c.id == _LINK.c.b_id)
    ids = {name: [number for kind, number in parts if kind == name] for name in ("node", "link")}
    yielded = set[int]()
    for column, numbers in ((_LINK.c.id, ids["link"]), (_LINK.c.a_id, ids["node"]), (_LINK.c.b_id, ids["node"])):
        for link in select_by_ids(connection, query, column, numbers):
            if link.id not in yielded:
                yielded.add(link.id)
                yield link


def _jobs_by_group(
    connection: Connection, groups_by_chip: Mapping[int, set[int]], span: Span | None
) -> Mapping[int, set[str]]:
    """Return the names of the jobs that have chips (by id) of each group, as `trninv release` takes them."""
    query = select(_ALLOCATION.c.chip_id, _JOB.c.name, _JOB.c.system, _JOB.c.external_id)
    query = query.join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
    start, end = _ALLOCATION.c.started_at, _ALLOCATION.c.ended_at
    if span is None:
        query = query.where(is_open_then(connection, start, end))
    else:
        query = query.where(start <= span[1], or_(end.is_(None), end > span[0]))
    jobs = defaultdict[int, set[str]](set)
    for row in select_by_ids(connection, query, _ALLOCATION.c.chip_id, groups_by_chip):
        for group in groups_by_chip[row.chip_id]:
            jobs[group].add(row.name if row.system == "trninv" else f"{row.system}:{row.external_id}")
    return jobs
