"""Change the state of parts, and represent it: up, degraded (with the fraction still carried), down or in maintenance.

Chips, NICs and switches follow their server, by triggers (`trninv.inventory.cascade`). ``node.state`` is the effective
state; ``own_state`` keeps a node's own state while its server is not up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Table,
    and_,
    bindparam,
    case,
    false,
    func,
    literal_column,
    select,
    union_all,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from trninv.errors import InvalidArgumentError, WrongLevelError
from trninv.inventory.address import Place, resolve
from trninv.inventory.author import check_author
from trninv.inventory.chain import record_change
from trninv.inventory.ranges import expand_chip_ranges
from trninv.inventory.schema import CARRYING_STATES, NODE_KINDS, SEVERITY_ORDER, STATES, TABLES, is_unhealthy
from trninv.inventory.since import refuse_if_changed

PPM = 1_000_000
_PPM: ColumnElement[int] = literal_column(str(PPM), Integer)


@dataclass(frozen=True, slots=True)
class Condition:
    """A state and, for a degraded part, the millionths that it still carries (None: all)."""

    state: str
    factor_ppm: int | None = None

    @classmethod
    def from_user(cls, state: str, factor: float | Fraction | None = None) -> "Condition":
        """Return a condition from a user's words.

        Raises
        ------
        InvalidArgumentError
            There is no such state, or a factor is missing or superfluous.
        """
        if state not in STATES:
            raise InvalidArgumentError(f"state {state!r}: choose {', '.join(STATES[:-1])} or {STATES[-1]}")
        if (state == "degraded") != (factor is not None):
            raise InvalidArgumentError(
                "degraded, and only that, has a factor: the part that still carries, such as 0.5"
            )
        return cls(state, None if factor is None else to_ppm(factor))

    @property
    def carries(self) -> bool:
        """Whether the part carries traffic at all."""
        return self.state in CARRYING_STATES

    def __str__(self) -> str:
        return self.state if self.factor_ppm is None else f"{self.state} to {self.factor_ppm / PPM:g}"


UP = Condition("up")


def to_ppm(factor: float | Fraction) -> int:
    """Return a factor between 0 and 1 in millionths."""
    ppm = round(factor * PPM) if 0 < factor < 1 else 0
    if not 0 < ppm < PPM:
        raise InvalidArgumentError(f"factor {factor:g}: what still carries is more than 0 and less than 1")
    return ppm


def carried_bandwidth(bandwidth: int, *conditions: Condition) -> int:
    """Return the bandwidth that a link carries in one direction, from its own condition and those of its ends."""
    if not all(condition.carries for condition in conditions):
        return 0
    return bandwidth * min((condition.factor_ppm or PPM for condition in conditions), default=PPM) // PPM


def carried_bandwidth_expression(link: FromClause, *ends: FromClause) -> ColumnElement[int]:
    """Return `carried_bandwidth` in SQL, for a row of ``link`` joined with the rows of ``node`` at its ends.

    The bandwidth is split at a million, since its product with the millionths might need more than 63 bits.
    """
    bandwidth, link_and_ends = link.c.bandwidth_bytes_per_s, (link, *ends)
    factor = _Minimum(*map(_factor_expression, link_and_ends))
    all_up = and_(*(part.c.state == literal_column("'up'") for part in link_and_ends))
    return case((all_up, bandwidth), else_=bandwidth // _PPM * factor + bandwidth % _PPM * factor // _PPM)


def carried_bandwidth_filter(link: Table) -> ColumnElement[int]:
    """Return `carried_bandwidth` in SQL for a row of ``link`` alone, to search a whole table.

    The ends are read only for the few links that are, or end at, an unhealthy part.
    """
    degraded, node = link.alias("worn"), TABLES["node"]
    end_node, a, b = (node.alias(f"worn_{name}") for name in ("node", "a", "b"))
    links_at_unhealthy = (
        select(degraded.c.id).join(end_node, end_node.c.id == end).where(is_unhealthy(end_node))
        for end in (degraded.c.a_id, degraded.c.b_id)
    )
    ids = union_all(select(degraded.c.id).where(is_unhealthy(degraded)), *links_at_unhealthy)
    bandwidth = select(carried_bandwidth_expression(link, a, b)).where(a.c.id == link.c.a_id, b.c.id == link.c.b_id)
    return case(
        (link.c.id.in_(ids), bandwidth.correlate_except(a, b).scalar_subquery()), else_=link.c.bandwidth_bytes_per_s
    )


def _factor_expression(part: FromClause) -> ColumnElement[int]:
    """Return the millionths that a link or a node carries."""
    carrying: list[ColumnElement[str]] = [literal_column(f"'{state}'") for state in CARRYING_STATES]
    return case(
        (part.c.state.in_(carrying), func.coalesce(part.c.factor_ppm, _PPM)), else_=literal_column("0", Integer)
    )


class _Minimum(FunctionElement[int]):
    """The minimum of two or more numbers."""

    inherit_cache = True
    type = Integer()


@compiles(_Minimum, "sqlite")
def _on_sqlite(minimum: _Minimum, compiler: SQLCompiler, **how: object) -> str:
    return f"min({compiler.process(minimum.clauses, **how)})"


@compiles(_Minimum, "postgresql")
def _on_postgresql(minimum: _Minimum, compiler: SQLCompiler, **how: object) -> str:
    return f"least({compiler.process(minimum.clauses, **how)})"


def condition_from_row(row: Any, prefix: str = "") -> Condition:
    """Return the condition in a row or mapping with state and factor_ppm, whose names may have a prefix."""
    values = getattr(row, "_mapping", row)
    return Condition(values[f"{prefix}state"], values[f"{prefix}factor_ppm"])


def effective_condition(one: Condition, other: Condition) -> Condition:
    """Return the worse of a part's own condition and its container's."""
    low, high = sorted((one, other), key=lambda condition: SEVERITY_ORDER.index(condition.state))
    if low.state == high.state == "degraded":
        return Condition("degraded", min(low.factor_ppm or PPM, high.factor_ppm or PPM) % PPM or None)
    return high


@dataclass(frozen=True, slots=True)
class ConditionChange:
    """A change of a part's condition."""

    address: str
    before: Condition
    after: Condition


def set_state(
    connection: Connection,
    addresses: Iterable[str],
    condition: Condition,
    *,
    why: str,
    who: str,
    only_carrying: bool = False,
    source: str = "command",
    unchanged_since: int | None = None,
) -> list[ConditionChange]:
    """Set the condition of parts, with author and reason; parts that already have it are skipped.

    All parts, including those that follow their server, belong to one change, whose events triggers write.

    Parameters
    ----------
    addresses
        Servers, chips (ranges such as c0-3 too), switches, NICs, network nodes and links (A--B).
    only_carrying
        Skip parts that are down or in maintenance, for whatever reason.
    source
        Where the change comes from: one of EVENT_SOURCES.
    unchanged_since
        Number of the newest event that the caller has seen; None: do not check.

    Raises
    ------
    InvalidArgumentError
        The reason is missing or too long, or there is no such source.
    WrongLevelError
        An address names something without a state.
    ConflictError
        A part changed after `unchanged_since`.
    """
    check_author(who, why)
    places = [resolve(connection, change_) for change_ in expand_chip_ranges(addresses)]
    for place in places:
        if place.level not in ("server", "link", *NODE_KINDS):
            have = "servers, chips, switches, NICs, network nodes and links"
            raise WrongLevelError(f"{place.address} is a {place.level}: {have} have a state")
    unique_places = {place.address: place for place in places}.values()
    if unchanged_since is not None:
        refuse_if_changed(connection, unique_places, unchanged_since)
    with record_change(connection, who=who.strip(), why=why.strip(), source=source):
        changes = [_change_part(connection, place, condition, only_carrying=only_carrying) for place in unique_places]
    return [change_ for change_ in changes if change_.before != change_.after]


def overridden_by_server(connection: Connection, addresses: Iterable[str]) -> Iterator[tuple[str, Condition]]:
    """Yield the parts whose effective condition differs from their own because of their server, with that condition."""
    node = TABLES["node"]
    for place in (resolve(connection, address) for address in expand_chip_ranges(addresses)):
        if place.level not in NODE_KINDS:
            continue
        row = connection.execute(select(node).where(node.c.id == place.id)).one()
        if row.own_state and (condition := condition_from_row(row)) != condition_from_row(row, "own_"):
            yield place.address, condition


def server_address(address: ColumnElement[str]) -> ColumnElement[str]:
    """Return the address of a part's server, in SQL; for a switch outside servers, the address of its domain."""
    for last in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "/"):  # of SERVER/c15
        address = func.rtrim(address, literal_column(f"'{last}'"))
    return address


def is_cascaded() -> ColumnElement[bool]:
    """Test whether a row of ``state_event`` is of a part that followed its server in the same change.

    The server's event is searched by its address, which has few events, not by the batch, which may cover a whole
    fleet.
    """
    event, server = TABLES["state_event"], TABLES["state_event"].alias("of_server")
    of_server = server_address(event.c.address)
    is_same = server.c.batch + literal_column("0") == event.c.batch
    is_server = func.coalesce(server.c.kind, literal_column("''")) == literal_column("'server'")
    server_event = select(server.c.id).where(server.c.address == of_server, is_same, is_server).correlate_except(server)
    is_node = event.c.kind.in_([literal_column(f"'{kind}'") for kind in NODE_KINDS])
    return and_(func.coalesce(is_node, false()), server_event.exists())


def _change_part(connection: Connection, place: Place, condition: Condition, *, only_carrying: bool) -> ConditionChange:
    table = TABLES[place.level if place.level in ("server", "link") else "node"]
    row = connection.execute(select(table).where(table.c.id == place.id)).one()
    is_own = table.name == "node" and row.own_state is not None
    before = condition_from_row(row, "own_" if is_own else "")
    if only_carrying and not before.carries:
        return ConditionChange(place.address, before, before)
    if table.name == "node":
        server = _server_condition(connection, place)
        _update_rows(connection, table, [_node_values(place.id, condition, server)])
    else:
        values = {"key": place.id, "state": condition.state, "factor_ppm": condition.factor_ppm}
        _update_rows(connection, table, [values])
    return ConditionChange(place.address, before, condition)


def _node_values(key: int, own: Condition, server: Condition) -> dict[str, Any]:
    """Return the columns of a node from its own condition and its server's."""
    now, own_kept = effective_condition(own, server), None if server == UP else own
    return {
        "key": key,
        "state": now.state,
        "factor_ppm": now.factor_ppm,
        "own_state": own_kept and own_kept.state,
        "own_factor_ppm": own_kept and own_kept.factor_ppm,
    }


def _server_condition(connection: Connection, place: Place) -> Condition:
    if place.level == "network_node":
        return UP
    table, server = TABLES[place.level], TABLES["server"]
    query = select(server).join(table, table.c.server_id == server.c.id).where(table.c.id == place.id)
    row = connection.execute(query).first()
    return condition_from_row(row) if row else UP


def _update_rows(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(update(table).where(table.c.id == bindparam("key")), rows)
