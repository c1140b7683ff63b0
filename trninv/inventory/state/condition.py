"""Represent the state of a part, and compute the bandwidth that a link carries in it.

Triggers (`trninv.inventory.triggers.cascade_triggers`) apply a server's state to its chips, NICs and switches.
``node.state`` is the effective state; ``own_state`` keeps a node's own state while its server is not up.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Table,
    and_,
    case,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from trninv.database.tables import CARRYING_STATES, SEVERITY_ORDER, STATES, TABLES, is_unhealthy
from trninv.errors import InvalidArgumentError

PPM = 1_000_000
"""A factor of 1, in millionths (parts per million)."""
_PPM: ColumnElement[int] = literal_column(str(PPM), Integer)


@dataclass(frozen=True, slots=True)
class Condition:
    """A state and, for a degraded part, the fraction of its bandwidth that is left, in millionths (None: all)."""

    state: str
    factor_ppm: int | None = None

    @classmethod
    def from_user(cls, state: str, factor: float | Fraction | None = None) -> "Condition":
        """Return a condition from a state and a factor that a user wrote.

        Raises
        ------
        InvalidArgumentError
            There is no such state, or a factor is missing or superfluous.
        """
        if state not in STATES:
            raise InvalidArgumentError(f"state {state!r}: choose {', '.join(STATES[:-1])} or {STATES[-1]}")
        if state == "degraded" and factor is None:
            raise InvalidArgumentError("state degraded has no factor: add the fraction that still works, such as 0.5")
        if state != "degraded" and factor is not None:
            raise InvalidArgumentError(f"state {state} has a factor: omit it, only degraded parts have one")
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
        raise InvalidArgumentError(f"factor {factor:g}: write a number more than 0 and less than 1")
    return ppm


def carried_bandwidth(bandwidth: int, *conditions: Condition) -> int:
    """Return the bandwidth that a link carries in one direction, from its own condition and those of its ends."""
    if not all(condition.carries for condition in conditions):
        return 0
    return bandwidth * min((condition.factor_ppm or PPM for condition in conditions), default=PPM) // PPM


def carried_bandwidth_expression(link: FromClause, *ends: FromClause) -> ColumnElement[int]:
    """Return `carried_bandwidth` in SQL, for a row of ``link`` joined with the rows of ``node`` at its ends.

    The bandwidth is divided by a million first and the remainder added, since the product of bandwidth and millionths
    might need more than 63 bits.
    """
    bandwidth, link_and_ends = link.c.bandwidth_bytes_per_s, (link, *ends)
    factor = _Minimum(*map(_factor_expression, link_and_ends))
    all_up = and_(*(part.c.state == literal_column("'up'") for part in link_and_ends))
    return case((all_up, bandwidth), else_=bandwidth // _PPM * factor + bandwidth % _PPM * factor // _PPM)


def carried_bandwidth_filter(link: Table) -> ColumnElement[int]:
    """Return `carried_bandwidth` in SQL for a row of ``link`` alone, to search a whole table.

    The ends are read only for the few links that are unhealthy or end at an unhealthy node.
    """
    affected, node = link.alias("affected"), TABLES["node"]
    end_node, a, b = (node.alias(f"affected_{name}") for name in ("node", "a", "b"))
    links_at_unhealthy_nodes = (
        select(affected.c.id).join(end_node, end_node.c.id == end).where(is_unhealthy(end_node))
        for end in (affected.c.a_id, affected.c.b_id)
    )
    ids = union_all(select(affected.c.id).where(is_unhealthy(affected)), *links_at_unhealthy_nodes)
    bandwidth = select(carried_bandwidth_expression(link, a, b)).where(a.c.id == link.c.a_id, b.c.id == link.c.b_id)
    return case(
        (link.c.id.in_(ids), bandwidth.correlate_except(a, b).scalar_subquery()), else_=link.c.bandwidth_bytes_per_s
    )


def _factor_expression(part: FromClause) -> ColumnElement[int]:
    """Return the fraction that a link or a node carries, in millionths, as a SQL expression."""
    carrying: list[ColumnElement[str]] = [literal_column(f"'{state}'") for state in CARRYING_STATES]
    return case(
        (part.c.state.in_(carrying), func.coalesce(part.c.factor_ppm, _PPM)), else_=literal_column("0", Integer)
    )


class _Minimum(FunctionElement[int]):
    """The SQL function for the minimum of two or more numbers, whose name differs between the dialects."""

    inherit_cache = True
    type = Integer()


@compiles(_Minimum, "sqlite")
def _on_sqlite(minimum: _Minimum, compiler: SQLCompiler, **options: object) -> str:
    return f"min({compiler.process(minimum.clauses, **options)})"


@compiles(_Minimum, "postgresql")
def _on_postgresql(minimum: _Minimum, compiler: SQLCompiler, **options: object) -> str:
    return f"least({compiler.process(minimum.clauses, **options)})"


def condition_from_row(row: Any, prefix: str = "") -> Condition:
    """Return the condition in the columns state and factor_ppm of a row or mapping; their names may have a prefix."""
    values = getattr(row, "_mapping", row)
    return Condition(values[f"{prefix}state"], values[f"{prefix}factor_ppm"])


def effective_condition(one: Condition, other: Condition) -> Condition:
    """Return the worse of a part's own condition and its server's; of two degraded ones, that with the lower factor."""
    better, worse = sorted((one, other), key=lambda condition: SEVERITY_ORDER.index(condition.state))
    if better.state == worse.state == "degraded":
        factor_ppm = min(better.factor_ppm or PPM, worse.factor_ppm or PPM)
        return Condition("degraded", None if factor_ppm == PPM else factor_ppm)
    return worse


def state_in_words(state: str) -> str:
    """Return a state as it follows "is": "down", "in maintenance"."""
    return "in maintenance" if state == "maintenance" else state
