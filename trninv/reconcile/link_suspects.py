"""Propose the link that explains why some of a server's measured transfers are slow and others are not."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, select

from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.reconcile.measured_runs import Run

_LINK, _CHIP = TABLES["link"], TABLES["chip"]
ChipLinks = Mapping[int, Sequence[int]]
"""The neighbors of each chip of a server within the server, by number."""
_Link = frozenset[int]


def read_chip_links(connection: Connection, server: int) -> ChipLinks:
    """Return the links between the chips of a server that carry traffic."""
    ordinals = {
        row.id: row.ordinal
        for row in connection.execute(select(_CHIP.c.id, _CHIP.c.ordinal).where(_CHIP.c.server_id == server))
    }
    neighbors = defaultdict[int, list[int]](list)
    is_between = _LINK.c.a_id.in_(ordinals) & _LINK.c.b_id.in_(ordinals) & _LINK.c.state.in_(CARRYING_STATES)
    for row in connection.execute(select(_LINK.c.a_id, _LINK.c.b_id).where(is_between)):
        a, b = ordinals[row.a_id], ordinals[row.b_id]
        neighbors[a].append(b)
        neighbors[b].append(a)
    return neighbors


def suspected_link(links: ChipLinks, slow: Iterable[Run], fast: Iterable[Run]) -> str | None:
    """Return the only link that is on a shortest path of every slow transfer and that no fast one needs, or None.

    A fast transfer needs a link if all of its shortest paths have it. Collectives point to no link, because how a
    library routes them is not known.
    """
    slow_transfers = [run for run in slow if run.operation == "transfer"]
    suspects: set[_Link] | None = None
    for run in slow_transfers:
        on_paths, _ = _path_links(links, run)
        suspects = on_paths if suspects is None else suspects & on_paths
    for run in fast:
        if run.operation == "transfer" and suspects:
            suspects = suspects - _path_links(links, run)[1]
    if not suspects or len(suspects) > 1:
        return None
    ((a, b),) = (sorted(link) for link in suspects)
    server = slow_transfers[0].address.rpartition("/")[0]
    return f"{server}/c{a}--{server}/c{b}"


def _path_links(links: ChipLinks, run: Run) -> tuple[set[_Link], set[_Link]]:
    """Return the links on any shortest path between a transfer's chips, and those on all of them."""
    ends = [_chip_number(address, run.address.rpartition("/")[0]) for address in (run.address, run.peer or "")]
    if None in ends or ends[0] == ends[1]:
        return set(), set()
    source, target = (int(end) for end in ends if end is not None)
    from_source, to_target = _hops(links, source), _hops(links, target)
    if target not in from_source:
        return set(), set()
    by_distance = defaultdict[int, set[_Link]](set)
    for a, neighbors in links.items():
        for b in neighbors:
            if from_source.get(a, 0) + 1 + to_target.get(b, len(links)) == from_source[target]:
                by_distance[from_source[a]].add(frozenset((a, b)))
    unavoidable = {link for layer in by_distance.values() if len(layer) == 1 for link in layer}
    return set().union(*by_distance.values()), unavoidable


def _chip_number(address: str, server: str) -> int | None:
    """Return the number of a chip of a server; None for any other address."""
    number = address.removeprefix(f"{server}/c")
    return int(number) if number != address and number.isdecimal() else None


def _hops(links: ChipLinks, start: int) -> dict[int, int]:
    """Return the hops from a chip to every chip that it reaches; breadth-first search."""
    hops, queue = {start: 0}, deque([start])
    while queue:
        chip = queue.popleft()
        for neighbor in links.get(chip, ()):
            if neighbor not in hops:
                hops[neighbor] = hops[chip] + 1
                queue.append(neighbor)
    return hops
