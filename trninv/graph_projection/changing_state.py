"""Read what changes in a projection without its structure: states, cordons, jobs, allocations and bindings.

Parts that are up, and links that carry all of their bandwidth, are left out, so that a state is small.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

import orjson
from sqlalchemy import Connection, Select, func, select, union_all

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import TABLES, is_unhealthy
from trninv.errors import InternalError
from trninv.inventory.state.condition import PPM, carried_bandwidth_expression

Section = Mapping[str, Sequence[Any]]
"""Values by the id of their row, as text."""
SECTIONS: Final = ("server", "node", "link", "cordon", "job", "allocation", "instance")
JOB_VALUES: Final = ("name", "system", "external_id", "cluster", "started_at", "priority", "pinned", "who")
INSTANCE_VALUES: Final = ("instance", "host", "method", "confidence", "started_at")
"""The properties that are the values of the section job, and those that follow the server's id in instance."""
_SERVER, _NODE, _LINK, _CORDON = (TABLES[name] for name in ("server", "node", "link", "cordon"))
_JOB, _ALLOCATION, _BINDING, _CLUSTER = (TABLES[name] for name in ("job", "allocation", "binding", "cluster"))


@dataclass(frozen=True, slots=True)
class ChangingState:
    """The changing part of a projection, by section and id.

    Values by section: server and node: state, factor in millionths. link: the same and the bandwidth that it carries.
    cordon: none; its id is the server's. job: `JOB_VALUES`. instance: its server's id and `INSTANCE_VALUES`.
    allocation: the ids of its job and chip, its role and its start.
    """

    sections: Mapping[str, Section]

    @classmethod
    def read(cls, connection: Connection) -> Self:
        """Read the state that a connection sees."""
        return cls({name: _read_section(connection, query) for name, query in _queries(connection)})

    @classmethod
    def load(cls, file: Path) -> Self:
        """Load a state that `dump` wrote.

        Raises
        ------
        InternalError
            The file is damaged.

        """
        try:
            sections = orjson.loads(file.read_bytes())
        except orjson.JSONDecodeError as error:
            raise InternalError(f"{file} is damaged; remove it") from error
        return cls(sections)

    def dump(self) -> bytes:
        """Return the state as JSON that is equal for equal states."""
        return orjson.dumps(self.sections, option=orjson.OPT_SORT_KEYS)

    def digest(self) -> str:
        """Return a digest that is equal for equal states only."""
        return sha256(self.dump()).hexdigest()[:16]

    def difference(self, newer: Self) -> "Difference":
        """Return the ids whose values differ, by section."""
        return {
            name: sorted(
                int(key)
                for key in self.sections[name].keys() | newer.sections[name].keys()
                if self.sections[name].get(key) != newer.sections[name].get(key)
            )
            for name in SECTIONS
        }


Difference = Mapping[str, Sequence[int]]


def _read_section(connection: Connection, query: Select[Any]) -> Section:
    return {str(row[0]): list(row[1:]) for row in connection.execute(query)}


def _queries(connection: Connection) -> Iterator[tuple[str, Select[Any]]]:
    for name, table in ("server", _SERVER), ("node", _NODE):
        query = select(table.c.id, table.c.state, table.c.factor_ppm)
        yield name, query.where(is_unhealthy(table), maybe_unhealthy(connection, table))
    yield "link", _affected_links(connection)
    yield "cordon", select(_CORDON.c.server_id).where(_CORDON.c.ended_at.is_(None))
    started_at = func.coalesce(_JOB.c.first_started_at, _JOB.c.started_at)
    yield (
        "job",
        select(_JOB.c.id, _JOB.c.name, _JOB.c.system, _JOB.c.external_id, _CLUSTER.c.slug, started_at)
        .add_columns(_JOB.c.priority, _JOB.c.pinned, _JOB.c.who)
        .join(_CLUSTER, _CLUSTER.c.id == _JOB.c.cluster_id)
        .where(_JOB.c.ended_at.is_(None)),
    )
    columns = (_ALLOCATION.c[name] for name in ("id", "job_id", "chip_id", "role", "started_at"))
    yield (
        "allocation",
        select(*columns)
        .join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
        .join(_NODE, _NODE.c.id == _ALLOCATION.c.chip_id)
        .where(_ALLOCATION.c.ended_at.is_(None), _JOB.c.ended_at.is_(None)),
    )
    bindings = select(*(_BINDING.c[name] for name in ("id", "server_id", *INSTANCE_VALUES))).join(
        _SERVER, _SERVER.c.id == _BINDING.c.server_id
    )
    yield "instance", bindings.where(_BINDING.c.ended_at.is_(None))


def _affected_links(connection: Connection) -> Select[Any]:
    """Select the links that are unhealthy or end at an unhealthy node."""
    a, b, link = _NODE.alias("a"), _NODE.alias("b"), _LINK.alias("affected")
    nodes = select(_NODE.c.id).where(is_unhealthy(_NODE), maybe_unhealthy(connection, _NODE))
    at_nodes = (select(link.c.id).where(end.in_(nodes)) for end in (link.c.a_id, link.c.b_id))
    unhealthy = select(_LINK.c.id).where(is_unhealthy(_LINK), maybe_unhealthy(connection, _LINK))
    return (
        select(_LINK.c.id, _LINK.c.state, _LINK.c.factor_ppm, carried_bandwidth_expression(_LINK, a, b))
        .join(a, a.c.id == _LINK.c.a_id)
        .join(b, b.c.id == _LINK.c.b_id)
        .where(_LINK.c.id.in_(union_all(unhealthy, *at_nodes)))
    )


def factor_of(factor_ppm: int | None) -> float | None:
    """Return a factor as a fraction."""
    return None if factor_ppm is None else factor_ppm / PPM
