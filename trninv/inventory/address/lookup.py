"""Look up the row that an address names, or say what exists instead.

A part's address is computed from ordinals, not stored with the part, and stays the same if its cluster is seeded again.

cluster[/dD[/sS[/cC[/ncK]]]]    cluster/dD/swN    cluster/dD/sS/efaN    cluster/rR    cluster/fabric/tT/nN
A--B (a link)    @i-0abc, @hostname (the server to which that instance or host is bound), @hostname/cC
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Select, bindparam, select

from trninv.database.as_of import omitted_clusters
from trninv.database.tables import NODE_KINDS, TABLES
from trninv.errors import AddressError, InvalidArgumentError, UnknownAddressError, WrongLevelError, suggestion
from trninv.inventory.address.expressions import node_addresses, ordinal_column
from trninv.inventory.address.machine_names import replace_machine_name, split_link
from trninv.inventory.address.syntax import STEP_NAMES, Address, format_letters, is_link, parse

_ANY_CLUSTER: Final = "any"
"""Stands for the cluster of an address that has none."""
NO_CLUSTER_MESSAGE: Final = (
    "no cluster yet: trninv seed loads documented systems, trninv docs adopt-a-fleet shows how to add your machines"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place or link that exists; ``id`` is the id of its row in the table of its level."""

    address: str
    level: str
    id: int
    cluster_id: int


def parse_or_look_up(connection: Connection, text: str) -> Address:
    """Parse the address of one place, after replacing a leading instance or host name by the address of its slot."""
    address = replace_machine_name(connection, text)
    try:
        return parse(address)
    except AddressError:
        if (whole := _in_only_cluster(connection, address)) is None:
            raise
        raise AddressError(f"{address!r} names no cluster: did you mean {whole}?") from None


def _in_only_cluster(connection: Connection, relative: str) -> str | None:
    """Return the address of the place that an address without its cluster names, if just one cluster has such one."""
    with suppress(AddressError):
        places = list(find_in_other_clusters(connection, parse(f"{_ANY_CLUSTER}/{relative.strip()}"), (), 2))
        return places[0] if len(places) == 1 else None
    return None


def resolve(connection: Connection, text: str) -> Place:
    """Return the place or link that an address names.

    Raises
    ------
    AddressError, UnknownAddressError
        The text is malformed, or nothing has this address: the second error's message names what exists instead.
    """
    return (resolve_link if is_link(text) else resolve_place)(connection, text)


def resolve_place(connection: Connection, text: str) -> Place:
    """Return the place that an address names.

    Raises
    ------
    AddressError, UnknownAddressError
        The text is malformed, or nothing has this address: the second error's message names what exists instead.
    InvalidTimeError
        The connection reads a time before the history of the place's cluster.
    """
    address = parse_or_look_up(connection, text)
    place = find_place(connection, address)
    if place is None:
        omitted = next((cluster for cluster in omitted_clusters(connection) if cluster.slug == address.cluster), None)
        if omitted is not None:
            from trninv.inventory.state.history_start import history_start_error  # noqa: PLC0415 # only for this error

            raise history_start_error(connection, omitted)
        raise UnknownAddressError(_suggestion(connection, address))
    return place


def find_place(connection: Connection, address: Address) -> Place | None:
    """Return the place of a parsed address, or None if it does not exist."""
    row = _select_place(connection, address).first()
    return None if row is None else Place(str(address), address.level, row.id, row.cluster_id)


def find_in_other_clusters(
    connection: Connection, address: Address, excluded_clusters: Collection[str], limit: int
) -> Iterator[str]:
    """Yield the addresses of places with the steps of an address in clusters other than some, by the cluster's name."""
    slug = TABLES["cluster"].c.slug
    places = _place_query(address.letters, in_any_cluster=True).where(slug.not_in(excluded_clusters))
    query = places.add_columns(slug).order_by(slug).limit(limit)
    return (str(replace(address, cluster=row.slug)) for row in connection.execute(query, _ordinals(address)))


def resolve_link(connection: Connection, text: str) -> Place:
    """Return the link "A--B"; its ends may be in either order."""
    ends = [resolve_place(connection, end) for end in split_link(text)]
    for end in ends:
        if end.level not in NODE_KINDS:
            raise WrongLevelError(f"{end.address} is a {end.level}: a link joins chips, switches, NICs, network nodes")
    low, high = sorted(end.id for end in ends)
    link = TABLES["link"]
    link_id = connection.scalar(select(link.c.id).where(link.c.a_id == low, link.c.b_id == high))
    if link_id is None:
        linked = neighbours(connection, ends[0].id)
        raise UnknownAddressError(f"no link {text}: {ends[0].address} is linked to {', '.join(linked) or 'nothing'}")
    address = "--".join(end.address for end in sorted(ends, key=lambda end: end.id))
    return Place(address, "link", link_id, ends[0].cluster_id)


def neighbours(connection: Connection, node_id: int) -> list[str]:
    """Return the addresses of the nodes linked to a node."""
    link = TABLES["link"]
    others = (
        select(link.c.b_id).where(link.c.a_id == node_id).union_all(select(link.c.a_id).where(link.c.b_id == node_id))
    )
    nodes = node_addresses()
    query = nodes.where(TABLES["node"].c.id.in_(others)).order_by(TABLES["node"].c.id)
    return [row.address for row in connection.execute(query)]


def _select_place(connection: Connection, address: Address, *, siblings: bool = False) -> CursorResult[Any]:
    """Select id, cluster_id and ordinal of an address or, with `siblings`, of all rows of its last step.

    A cluster has no ordinal.
    """
    query = _place_query(address.letters, siblings=siblings)
    return connection.execute(query, _ordinals(address, siblings=siblings) | {"slug": address.cluster})


def _ordinals(address: Address, *, siblings: bool = False) -> dict[str, Any]:
    """Return the values of a place query's ordinals."""
    steps = address.steps[:-1] if siblings else address.steps
    return {f"ordinal{position}": ordinal for position, (_, ordinal) in enumerate(steps, start=1)}


@cache  # building the query takes longer than running it
def _place_query(
    letters_of_steps: tuple[str, ...], *, siblings: bool = False, in_any_cluster: bool = False
) -> Select[Any]:
    """Return the query of `_select_place`, or of the same steps in any cluster."""
    cluster = last = TABLES["cluster"]
    query = select(cluster) if in_any_cluster else select(cluster).where(cluster.c.slug == bindparam("slug"))
    for position, letters in enumerate(letters_of_steps, start=1):
        parent, last = last, TABLES[STEP_NAMES[letters]]
        number = ordinal_column(last, letters)
        if letters in ("sw", "fabric-t"):
            node = TABLES["node"]
            query = query.join(node, node.c[f"{parent.name}_id"] == parent.c.id).join(last, last.c.id == node.c.id)
        elif parent is not last:  # both steps of a network node (tier and ordinal) are in the same table
            query = query.join(last, last.c[f"{parent.name}_id"] == parent.c.id)
        if not (siblings and position == len(letters_of_steps)):
            query = query.where(number == bindparam(f"ordinal{position}"))
    columns = [last.c.id.label("id"), cluster.c.id.label("cluster_id")]
    return query.with_only_columns(*columns, *([number.label("ordinal")] if letters_of_steps else []))


def _suggestion(connection: Connection, address: Address) -> str:
    """Name the first missing step of an address and the siblings that exist instead."""
    missing = address
    while missing.steps and _select_place(connection, missing.parent).first() is None:
        missing = missing.parent
    if not missing.steps:
        with suppress(AddressError, UnknownAddressError):
            replace_machine_name(connection, f"@{missing}")
            return f"no cluster {missing}: did you mean @{missing}?"
        if whole := _in_only_cluster(connection, str(address)):
            return f"no cluster {missing}: did you mean {whole}?"
        slugs = connection.scalars(select(TABLES["cluster"].c.slug)).all()
        from trninv.catalog.models import default_systems  # noqa: PLC0415 # only to suggest a name

        system = default_systems().by_name.get(missing.cluster)
        hint = f"did you mean {system.slug}?" if system and system.slug in slugs else suggestion(missing.cluster, slugs)
        return f"no cluster {missing.cluster}: {hint}" if slugs else NO_CLUSTER_MESSAGE
    ordinals = sorted({row.ordinal for row in _select_place(connection, missing, siblings=True)})
    letters = format_letters(missing.steps[-1][0])[1:]
    first_and_last = dict.fromkeys(f"{letters}{ordinal}" for ordinal in (*ordinals[:1], *ordinals[-1:]))
    available = " to ".join(first_and_last) or f"no {STEP_NAMES[missing.steps[-1][0]].replace('_', ' ')}"
    return f"no {missing}: {missing.parent} has {available}"


_MAX_SHOWN: Final = 6
"""The maximum number of clusters that a message lists."""


def only_cluster(connection: Connection) -> str:
    """Return the address of the only cluster, or refuse if there are none or several."""
    cluster = TABLES["cluster"]
    slugs = connection.scalars(select(cluster.c.slug).order_by(cluster.c.id)).all()
    if len(slugs) == 1:
        return str(slugs[0])
    listed = ", ".join(slugs[:_MAX_SHOWN]) + (", …" if len(slugs) > _MAX_SHOWN else "")
    raise InvalidArgumentError(
        f"which place? There are {len(slugs)} clusters: name one of {listed}" if slugs else NO_CLUSTER_MESSAGE
    )
