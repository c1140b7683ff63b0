"""Sum up what each incident takes away: chips, bandwidth, and parts of jobs."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, func, literal_column, or_, select

from trninv.database.as_of import is_open_then
from trninv.database.tables import TABLES, shared_alias
from trninv.incidents.failures import select_by_ids
from trninv.incidents.model import Loss, PartKey, UnhealthyPart
from trninv.inventory.state.condition import carried_bandwidth, carried_bandwidth_expression
from trninv.units import Bandwidth

_DOMAIN, _NODE, _LINK, _JOB, _ALLOCATION = (TABLES[name] for name in ("domain", "node", "link", "job", "allocation"))
_END_A, _END_B = (shared_alias(TABLES["node"], f"end_{name}") for name in "ab")
_PCIE_SCOPE: Final = "host"
"""The scope of links between chips and NICs, which are neither NeuronLinks nor EFA."""
_PLANNED_STATES: Final = frozenset({"up", "maintenance"})

_Site = tuple[int, int | None]
"""The ids of a link's cluster and domain; None between network nodes."""

Span = tuple[str, str]
"""When a closed incident began and ended."""


def load_losses(
    connection: Connection, groups: Sequence[Sequence[UnhealthyPart]], spans: Sequence[Span] | None = None
) -> list[Loss]:
    """Return the loss of each group of unhealthy parts.

    Now, no part is in two groups, and a link counts in its own group, or else in that of its first end that has one, so
    that losses can be added up. With spans, each group is by itself.

    Parameters
    ----------
    spans
        When each group was unhealthy, if that is over; other parts count as up then. None: now.
    """
    members = [{part.key: part for part in parts} for parts in groups]
    groups_by_part = defaultdict[PartKey, list[int]](list)
    for index, parts in enumerate(groups):
        for part in parts:
            groups_by_part[part.key].append(index)
    # a job is affected by a failure of its chips, and of links, switches and NICs at its chips
    chips = {key: set(owning) for key, owning in groups_by_part.items() if key[0] == "node"}
    own_chips = {part.key for parts in groups for part in parts if part.kind == "chip"}
    bandwidths, failed_bandwidths = defaultdict[int, int](int), defaultdict[tuple[int, _Site], int](int)
    for link in _links_at(connection, groups_by_part):
        keys: tuple[PartKey, ...] = ("link", link.id), ("node", link.a_id), ("node", link.b_id)
        owners = [(key, index) for key in keys for index in groups_by_part.get(key, ())]
        first_owners = {index: key for key, index in reversed(owners)} if spans else {owners[0][1]: owners[0][0]}
        for index, key in first_owners.items() if link.scope != _PCIE_SCOPE else ():
            lost, states = link.lost, {*link[-3:]}
            if spans:
                conditions = [members[index][key].condition for key in keys if key in members[index]]
                lost = link.bandwidth - carried_bandwidth(link.bandwidth, *conditions)
                states = {condition.state for condition in conditions}
            bandwidths[index] += lost
            if not states <= _PLANNED_STATES:
                failed_bandwidths[index, (members[index][key].location.cluster, link.domain_id)] += lost
        for key, index in owners:
            if key not in own_chips:
                for end in keys[1:]:
                    chips.setdefault(end, set()).add(index)
    jobs = _jobs_by_group(connection, {number: owning for (_, number), owning in chips.items()}, spans)
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
    connection: Connection, groups: Sequence[Sequence[UnhealthyPart]], bandwidths: Mapping[tuple[int, _Site], int]
) -> list[int]:
    """Return what each group is worth in thousandths of a chip.

    Parameters
    ----------
    bandwidths
        The bandwidth that failed, by the index of the group and the site of the links.
    """
    chip_bandwidths = _chip_bandwidths(connection, {site for _, site in bandwidths})
    by_measure = defaultdict[tuple[int, int], int](int)
    for (index, site), bandwidth in bandwidths.items():
        by_measure[index, chip_bandwidths[site]] += bandwidth
    by_bandwidth = defaultdict[int, int](int)
    for (index, chip_bandwidth), bandwidth in by_measure.items():
        if chip_bandwidth:
            by_bandwidth[index] += 1_000 * bandwidth // chip_bandwidth
    return [
        max(1_000 * sum(part.kind == "chip" and part.condition.state == "down" for part in parts), by_bandwidth[index])
        for index, parts in enumerate(groups)
    ]


def _chip_bandwidths(connection: Connection, sites: Collection[_Site]) -> Mapping[_Site, int]:
    """Return the NeuronLink bandwidth of a chip at each site; outside of domains, the largest of the cluster's models.

    Domains of one model are alike, so that one of each is measured.
    """
    query = select(func.min(_DOMAIN.c.id).label("first"), _DOMAIN.c.domain_model_id.label("model"))
    query = query.group_by(_DOMAIN.c.domain_model_id)
    by_model = {
        cluster: {
            row.model: _chip_bandwidth(connection, row.first)
            for row in connection.execute(query.where(_DOMAIN.c.cluster_id == cluster))
        }
        for cluster in {cluster for cluster, _ in sites}
    }
    models_query = select(_DOMAIN.c.id, _DOMAIN.c.domain_model_id.label("model"))
    domains = {domain for _, domain in sites if domain is not None}
    models = {row.id: row.model for row in select_by_ids(connection, models_query, _DOMAIN.c.id, domains)}
    return {
        (cluster, domain): max(by_model[cluster].values()) if domain is None else by_model[cluster][models[domain]]
        for cluster, domain in sites
    }


def _chip_bandwidth(connection: Connection, domain: int) -> int:
    """Return the bandwidth of the NeuronLinks at the first chip of a domain, one direction; 0 if it has none."""
    is_chip = _NODE.c.kind == literal_column("'chip'")
    chip = connection.scalar(select(func.min(_NODE.c.id)).where(_NODE.c.domain_id == domain, is_chip))
    query = select(func.sum(_LINK.c.bandwidth_bytes_per_s)).where(_LINK.c.scope != _PCIE_SCOPE)
    return int(connection.scalar(query.where(or_(_LINK.c.a_id == chip, _LINK.c.b_id == chip))) or 0)


def _links_at(connection: Connection, parts: Collection[PartKey]) -> Iterator[Any]:
    """Yield the links that are among some parts or end there, once each, with their bandwidths and states."""
    lost = _LINK.c.bandwidth_bytes_per_s - carried_bandwidth_expression(_LINK, _END_A, _END_B)
    query = select(
        *(_LINK.c[name] for name in ("id", "a_id", "b_id", "domain_id", "scope")),
        _LINK.c.bandwidth_bytes_per_s.label("bandwidth"),
        lost.label("lost"),
        *(part.c.state.label(f"state_{name}") for name, part in (("link", _LINK), ("a", _END_A), ("b", _END_B))),
    )
    query = query.select_from(_LINK).join(_END_A, _END_A.c.id == _LINK.c.a_id).join(_END_B, _END_B.c.id == _LINK.c.b_id)
    ids = {name: [number for kind, number in parts if kind == name] for name in ("node", "link")}
    yielded = set[int]()
    for column, numbers in ((_LINK.c.id, ids["link"]), (_LINK.c.a_id, ids["node"]), (_LINK.c.b_id, ids["node"])):
        for link in select_by_ids(connection, query, column, numbers):
            if link.id not in yielded:
                yielded.add(link.id)
                yield link


def _jobs_by_group(
    connection: Connection, groups_by_chip: Mapping[int, set[int]], spans: Sequence[Span] | None
) -> Mapping[int, set[str]]:
    """Return the names of the jobs that have chips (by id) of each group, as `trninv release` takes them."""
    start, end = _ALLOCATION.c.started_at, _ALLOCATION.c.ended_at
    query = select(_ALLOCATION.c.chip_id, start, end, _JOB.c.name, _JOB.c.system, _JOB.c.external_id)
    query = query.join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
    if not spans:
        query = query.where(is_open_then(connection, start, end))
    else:
        begin, last = min(span[0] for span in spans), max(span[1] for span in spans)
        query = query.where(start <= last, or_(end.is_(None), end > begin))
    jobs = defaultdict[int, set[str]](set)
    for row in select_by_ids(connection, query, _ALLOCATION.c.chip_id, groups_by_chip):
        for group in groups_by_chip[row.chip_id]:
            if not spans or _overlaps(row, spans[group]):
                jobs[group].add(job_name(row))
    return jobs


def job_name(row: Any) -> str:
    """Return the name of a job's row as `trninv release` takes it."""
    return str(row.name) if row.system == "trninv" else f"{row.system}:{row.external_id}"


def _overlaps(row: Any, span: Span) -> bool:
    """Return whether an allocation began by the end of a span and had not ended when it began."""
    return bool(row.started_at <= span[1] and (row.ended_at is None or row.ended_at > span[0]))
