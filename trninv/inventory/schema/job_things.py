"""Declare jobs, the chips allocated to them, cordons and reservations."""

from typing import Any, Final

from sqlalchemy import FromClause, and_, case, distinct, func, literal_column, or_, select

from trninv.database.sql_constructs import CurrentHour
from trninv.database.tables import CARRYING_STATES, STATES, TABLES
from trninv.inventory.address.expressions import address_by_id, address_expression
from trninv.inventory.schema.enumerations import ALLOCATION_ROLE, RESERVATION_KIND, STATE
from trninv.inventory.schema.thing import Field, Lifetime, Sql, Thing, ValueFormat, View, column_field, join_by_keys

_JOB, _ALLOCATION, _CORDON = (TABLES[name] for name in ("job", "allocation", "cordon"))
_RESERVATION, _RESERVED_CHIP = TABLES["reservation"], TABLES["reserved_chip"]
_CHIP, _NODE, _SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("chip", "node", "server", "domain", "cluster"))
_FAILED_STATES: Final[list[Sql]] = [literal_column(f"'{state}'") for state in STATES if state not in CARRYING_STATES]

_job_allocation, _job_chip, _job_node = (table.alias(f"held_{table.name}") for table in (_ALLOCATION, _CHIP, _NODE))


def _of_allocations(value: Sql, *joins: tuple[FromClause, Sql], is_current: Sql | None = None) -> Any:
    """Return an aggregate over a job's allocations: the open ones or, if it has ended, those that it had at its end.

    `is_current` replaces this choice of allocations by another condition.
    """
    is_last = or_(_job_allocation.c.ended_at.is_(None), _job_allocation.c.ended_at == _JOB.c.ended_at)
    source: FromClause = _job_allocation
    for table, condition in joins:
        source = source.join(table, condition)
    query = (
        select(value)
        .select_from(source)
        .where(_job_allocation.c.job_id == _JOB.c.id, is_last if is_current is None else is_current)
    )
    return query.correlate_except(_job_allocation, _job_chip, _job_node).scalar_subquery()


_TO_CHIP = _job_chip, _job_chip.c.id == _job_allocation.c.chip_id
_TO_NODE = _job_node, _job_node.c.id == _job_allocation.c.chip_id
_is_on_failed_chip = and_(_job_allocation.c.ended_at.is_(None), _job_node.c.state.in_(_FAILED_STATES))
# A move by trninv continues a job in a new row: ``started_at`` is then when it moved, and ``first_started_at`` when its
# first row started. A move by an import keeps the row and sets ``moved_at``.
_moved_at = func.coalesce(_JOB.c.moved_at, case((_JOB.c.first_started_at.is_not(None), _JOB.c.started_at)))
JOB_THINGS: Final = (
    Thing(
        name="job",
        description="A job and its allocated chips.",
        list_name="jobs",
        list_description="Jobs with allocated chips, oldest first.",
        table=_JOB,
        joins=join_by_keys(_JOB, "cluster"),
        fields=(
            column_field(_JOB.c.name, "Name of the job."),
            column_field(_JOB.c.system, "The system that runs it; trninv if it was allocated here."),
            column_field(_JOB.c.external_id, "Its id in that system."),
            column_field(_CLUSTER.c.slug, "The cluster of its chips.", ValueFormat.PLACE, name="cluster"),
            Field(
                "chips",
                ValueFormat.INT,
                _of_allocations(func.count()),
                "Allocated chips, including spares; of an ended job, those at its end.",
            ),
            Field(
                "servers",
                ValueFormat.INT,
                _of_allocations(func.count(distinct(_job_chip.c.server_id)), _TO_CHIP),
                "Servers with these chips.",
            ),
            Field(
                "first_server",
                ValueFormat.PLACE,
                address_by_id("server", _of_allocations(func.min(_job_chip.c.server_id), _TO_CHIP)),
                "The first of these servers.",
                nullable=True,
            ),
            Field(
                "failed_chips",
                ValueFormat.INT,
                _of_allocations(func.count(), _TO_NODE, is_current=_is_on_failed_chip),
                "Allocated chips that are down or in maintenance.",
            ),
            Field(
                "started_at",
                ValueFormat.TIME,
                func.coalesce(_JOB.c.first_started_at, _JOB.c.started_at),
                "When it first got chips, UTC; a move does not change it.",
            ),
            Field(
                "moved_at",
                ValueFormat.TIME,
                _moved_at,
                "When it last moved, by trninv or an import, UTC; null if never.",
                nullable=True,
            ),
            column_field(_JOB.c.until_at, "When it ends at the latest, UTC; null if unknown.", ValueFormat.TIME),
            column_field(_JOB.c.ended_at, "When it ended, UTC; null while it has chips.", ValueFormat.TIME),
            Field(
                "pinned",
                ValueFormat.BOOLEAN,
                _JOB.c.pinned == literal_column("1"),
                "Whether move plans leave it where it is.",
            ),
            column_field(_JOB.c.who, "Who allocated it; events have who moved it."),
        ),
        columns=(
            *("name", "system", "external_id", "chips", "servers", "first_server", "failed_chips"),
            *("started_at", "pinned", "who"),
        ),
        has_scope=True,
        lifetime=Lifetime(
            "include_ended", "Whether to include jobs that have ended.", _JOB.c.ended_at.is_(None), ("ended_at",)
        ),
    ),
    Thing(
        name="allocation",
        description="A chip allocated to a job.",
        list_name="allocations",
        list_description="Allocated chips, in the order of the design.",
        table=_ALLOCATION,
        joins=join_by_keys(_ALLOCATION, "job", "chip", "node", "server", "domain", "cluster"),
        fields=(
            Field("chip", ValueFormat.PLACE, address_expression("chip"), "Address of the chip."),
            column_field(_JOB.c.name, "Name of the job.", name="job"),
            column_field(_JOB.c.system, "The system that runs the job; trninv if it was allocated here."),
            column_field(_JOB.c.external_id, "The job's id in that system."),
            column_field(_ALLOCATION.c.role, "Whether the job uses it.", enumeration=ALLOCATION_ROLE),
            column_field(_ALLOCATION.c.started_at, "When it was allocated, UTC.", ValueFormat.TIME),
            column_field(_ALLOCATION.c.ended_at, "When it was released, UTC; null while it lasts.", ValueFormat.TIME),
            column_field(_NODE.c.state, "State of the chip.", enumeration=STATE),
        ),
        view=View(
            "v_allocation",
            ("cluster", "domain", "server"),
            {"chip": "address"},
            (column_field(_CHIP.c.ordinal, "Its number within the server."),),
            example="SELECT job, count(*) AS chips FROM v_allocation WHERE ended_at IS NULL GROUP BY job ORDER BY job",
        ),
        has_scope=True,
        lifetime=Lifetime(
            "include_ended",
            "Whether to include allocations that have ended.",
            _ALLOCATION.c.ended_at.is_(None),
            ("ended_at",),
        ),
        sort_keys=(column_field(_ALLOCATION.c.chip_id, "Number of the chip in the design.", name="chip_number"),),
        default_order=("chip_number",),
    ),
    Thing(
        name="cordon",
        description="A cordon: a server takes no new jobs while it lasts.",
        list_name="cordons",
        list_description="Cordoned servers, in the order of the design.",
        table=_CORDON,
        joins=join_by_keys(_CORDON, "server", "domain", "cluster"),
        fields=(
            Field("server", ValueFormat.PLACE, address_expression("server"), "Address of the server."),
            column_field(_CORDON.c.started_at, "When it was cordoned, UTC.", ValueFormat.TIME),
            column_field(
                _CORDON.c.ended_at, "When it was uncordoned, UTC; null while it is cordoned.", ValueFormat.TIME
            ),
            column_field(_CORDON.c.who, "Who cordoned it."),
            column_field(_CORDON.c.why, "The reason."),
        ),
        columns=("server", "started_at", "who", "why"),
        has_scope=True,
        lifetime=Lifetime(
            "include_ended", "Whether to include cordons that have ended.", _CORDON.c.ended_at.is_(None), ("ended_at",)
        ),
        sort_keys=(column_field(_CORDON.c.server_id, "Number of the server in the design.", name="server_number"),),
        default_order=("server_number",),
    ),
    Thing(
        name="reservation",
        description="Chips that are reserved for a job or for maintenance, for a time.",
        list_name="reservations",
        list_description="Reservations that have not passed, by their start.",
        table=_RESERVATION,
        joins=join_by_keys(_RESERVATION, "cluster"),
        fields=(
            column_field(_RESERVATION.c.name, "Name of the reservation."),
            column_field(_RESERVATION.c.kind, "What it is for.", enumeration=RESERVATION_KIND),
            column_field(_CLUSTER.c.slug, "The cluster of its chips.", ValueFormat.PLACE, name="cluster"),
            column_field(_RESERVATION.c.place, "The smallest place with all of its chips.", ValueFormat.PLACE),
            column_field(_RESERVATION.c.chips, "Number of its chips."),
            Field(
                "failed_chips",
                ValueFormat.INT,
                select(func.count())
                .select_from(_RESERVED_CHIP.join(_job_node, _job_node.c.id == _RESERVED_CHIP.c.chip_id))
                .where(_RESERVED_CHIP.c.reservation_id == _RESERVATION.c.id, _job_node.c.state.in_(_FAILED_STATES))
                .correlate_except(_RESERVED_CHIP, _job_node)
                .scalar_subquery(),
                "Its chips that are down or in maintenance.",
            ),
            column_field(_RESERVATION.c.from_at, "When it begins, UTC.", ValueFormat.TIME),
            column_field(_RESERVATION.c.until_at, "When it ends, UTC; no longer reserved then.", ValueFormat.TIME),
            column_field(_RESERVATION.c.started_at, "When it was made, UTC.", ValueFormat.TIME, name="reserved_at"),
            column_field(
                _RESERVATION.c.ended_at, "When it was cancelled, UTC; else null.", ValueFormat.TIME, name="cancelled_at"
            ),
            column_field(_RESERVATION.c.who, "Who made it."),
            column_field(_RESERVATION.c.why, "The reason; may be empty."),
        ),
        columns=("name", "kind", "place", "chips", "failed_chips", "from_at", "until_at", "who"),
        has_scope=True,
        lifetime=Lifetime(
            "include_ended",
            "Whether to include reservations that were cancelled or ended before this hour.",
            and_(_RESERVATION.c.ended_at.is_(None), _RESERVATION.c.until_at > CurrentHour()),
            ("cancelled_at",),
        ),
        view=View(
            "v_reservation",
            ("cluster",),
            {"cluster": None},
            example="SELECT name, kind, place, chips, from_at, until_at FROM v_reservation WHERE cancelled_at IS NULL "
            "ORDER BY from_at",
        ),
        default_order=("from_at",),
    ),
)
