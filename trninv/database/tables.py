"""Define the tables. ``node`` is the vertex table and ``link`` the edge table of the graph; the others describe them.

Bandwidths are bytes per second in one direction, capacities bytes, compute 10⁹ operations per second.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

from trninv.catalog.facts import CONFLICT_KINDS, DIRECTIONS, SOURCE_KINDS
from trninv.database.allocation_bits import BITMASK_WORDS
from trninv.database.finding_rules import SEVERITIES

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

TABLES: Mapping[str, Table] = METADATA.tables

INSERT_ORDER = ("domain", "rack", "server", "tray", "node", "chip", "switch", "nic", "network_node", "core", "link")
"""The tables of a cluster's rows, ordered by their foreign keys."""

BIGINT = BigInteger().with_variant(Integer(), "sqlite")
"""A 63-bit integer: SQLite's INTEGER is one, PostgreSQL's is not."""

STATE_MEANINGS: Final[Mapping[str, str]] = {
    "up": "Works at full capacity.",
    "degraded": "Works partly: it carries its factor of the capacity, or all of it without a factor.",
    "down": "Failed; it carries nothing.",
    "maintenance": "Taken out of service; it carries nothing.",
}
STATES = tuple(STATE_MEANINGS)
SEVERITY_ORDER: Final = ("up", "degraded", "maintenance", "down")
"""States from the best to the worst: a part has the worse one of its own and its server's."""

CARRYING_STATES = ("up", "degraded")

TOKEN_SCOPE_MEANINGS: Final[Mapping[str, str]] = {
    "read": "May read everything, except with SQL.",
    "sql": "May read everything, also with SQL.",
    "operate": "May read everything, except with SQL, and run mutations.",
    "observe": "May only report observations of one machine: the instance or host that the token is named after.",
    "admin": "May do everything.",
}
TOKEN_SCOPES = tuple(TOKEN_SCOPE_MEANINGS)
TOKEN_SCOPES_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "read": frozenset({"read"}),
    "sql": frozenset({"read", "sql"}),
    "operate": frozenset({"read", "operate"}),
    "observe": frozenset({"observe"}),
    "admin": frozenset(TOKEN_SCOPES),
}
"""The scopes of tokens that satisfy each required scope."""

NODE_KINDS = ("chip", "switch", "nic", "network_node")
PART_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "server": "A server; its state cascades to its chips, NICs and switches.",
    "chip": "A chip.",
    "switch": "A switch.",
    "nic": "An EFA device.",
    "network_node": "A network node of the EFA fabric.",
    "link": "A link.",
}
PART_KINDS = tuple(PART_KIND_MEANINGS)
EVENT_SOURCE_MEANINGS: Final[Mapping[str, str]] = {
    "command": "The command line.",
    "api": "The GraphQL API.",
    "import": "A report of a machine or its manager.",
    "drift": "A difference between design and observation.",
    "sql": "An SQL statement.",
}
EVENT_SOURCES = tuple(EVENT_SOURCE_MEANINGS)
"""The origins of a change of state."""
ACTION_MEANINGS: Final[Mapping[str, str]] = {
    "allocate": "Chips were allocated to a job.",
    "move": "A job moved to other chips: one event at its old place and one at its new place; only the first if an "
    "import moved it within the same place.",
    "release": "A job ended and its chips were released.",
    "cordon": "A server was cordoned and takes no new jobs.",
    "uncordon": "A server was uncordoned and takes new jobs again.",
}
ACTIONS = tuple(ACTION_MEANINGS)
"""Actions on jobs and on cordons; events of states have none."""
JOB_ACTIONS, SERVER_ACTIONS = ACTIONS[:3], ACTIONS[3:]
FORMER_ACTIONS: Final[Mapping[str, str]] = {"allocate": "hold", "cordon": "close", "uncordon": "open"}
"""The actions that schema version 0033 renamed, each with its former name, which older archives and seals have."""
START_CAUSE_MEANINGS: Final[Mapping[str, str]] = {
    "seed": "The cluster was seeded or adopted.",
    "grow": "The cluster grew by domains.",
    "archive": "Earlier events were moved to an archive.",
    "migrate": "The database was migrated to the schema version that records starts.",
    "unseed": "The cluster was removed.",
}
LINK_SCOPE_MEANINGS: Final[Mapping[str, str]] = {
    "server": "Links chips and switches of one server.",
    "rack": "Links chips and switches of one rack.",
    "domain": "Links chips and switches of one domain.",
    "host": "Links a chip and a NIC of the same server.",
    "fabric": "Links a NIC or a network node to the network node above it.",
}
LINK_SCOPES = tuple(LINK_SCOPE_MEANINGS)
TRAY_KIND_MEANINGS: Final[Mapping[str, str]] = {
    "head": "Contains the host CPUs.",
    "compute": "Contains chips.",
}
TRAY_KINDS = tuple(TRAY_KIND_MEANINGS)
BINDING_METHOD_MEANINGS: Final[Mapping[str, str]] = {
    "pin": "Set by a person.",
    "adopted": "The slot was created for the instance.",
    "ultraserver": "Inferred from its UltraServer, which has another bound instance.",
    "capacity-block": "Inferred from its capacity block, which has another bound instance.",
    "network-node": "Inferred from the network node above it, where no other slot is left.",
    "host-name": "Inferred from its host name, which is the slot's.",
    "only-place": "Inferred because no other slot and no other instance fits.",
    "in-order": "Assigned in order among equal slots.",
}
CONFIDENCE_MEANINGS: Final[Mapping[str, str]] = {
    "certain": "Set by a person, or nothing else is possible.",
    "likely": "Follows from a convention, such as host names.",
    "interchangeable": "Other slots fit equally well: no observation tells them apart.",
}
BINDING_END_MEANINGS: Final[Mapping[str, str]] = {
    "undone": "A person undid it.",
    "replaced": "Another instance took the slot.",
    "moved": "The instance took another slot.",
    "renewed": "The same binding was renewed with more information.",
    "unseeded": "The cluster was removed.",
}

_IS_UNHEALTHY = text("state <> 'up'")
_IS_OPEN = text("ended_at IS NULL")


def check_one_of(column: str, values: tuple[str, ...], *, nullable: bool = False) -> CheckConstraint:
    """Return the constraint that a column holds one of some words."""
    quoted = ", ".join(f"'{value}'" for value in values)
    test = f"{column} IN ({quoted})"
    return CheckConstraint(f"{column} IS NULL OR {test}" if nullable else test, name=column)


def check_positive(column: str) -> CheckConstraint:
    """Return the constraint that a column is positive."""
    return CheckConstraint(f"{column} > 0", name=column)


def check_ordinal(column: str = "ordinal") -> CheckConstraint:
    """Return the constraint that a column is not negative."""
    return CheckConstraint(f"{column} >= 0", name=column)


def is_unhealthy(table: FromClause) -> ColumnElement[bool]:
    """Return the condition for unhealthy rows, without a bound parameter, which would rule out `unhealthy_index`."""
    return table.c.state != literal_column("'up'")


def unhealthy_index(table: str) -> Index:
    """Return an index over the few unhealthy rows."""
    return Index(f"ix_{table}_unhealthy", "id", sqlite_where=_IS_UNHEALTHY)


def unique_while_open(table: str, *columns: str, ended: str) -> Index:
    """Return an index that allows one open row for the same values of some columns."""
    name = f"uq_{table}_{'_'.join(columns)}_now"
    return Index(name, *columns, unique=True, sqlite_where=text(f"{ended} IS NULL"))


def make_indexes_partial() -> None:
    """Make SQLite's partial indexes partial on PostgreSQL too; called late, since it imports PostgreSQL's dialect."""
    for table in TABLES.values():
        for index in table.indexes:
            if (where := index.dialect_options["sqlite"]["where"]) is not None:
                index.dialect_kwargs["postgresql_where"] = where


def condition_columns(prefix: str = "") -> list[Column[Any] | CheckConstraint]:
    """Return the columns of a state and, for a degraded part, of the millionths that it still carries."""
    state, factor = f"{prefix}state", f"{prefix}factor_ppm"
    in_range = CheckConstraint(f"{factor} > 0 AND {factor} < 1000000", name=factor)
    if prefix:  # a node's own condition while its server is not up
        return [
            Column(state, String(12)),
            Column(factor, Integer),
            check_one_of(state, STATES, nullable=True),
            in_range,
        ]
    return [
        required_column(state, String(12), server_default="up"),
        Column(factor, Integer),
        check_one_of(state, STATES),
        in_range,
    ]


def required_column(name: str, kind: Any, **options: Any) -> Column[Any]:
    """Return a column that is never null."""
    return Column(name, kind, nullable=False, **options)


def primary_key(parent: str | None = None) -> Column[int]:
    """Return the primary key, which is also a foreign key where the table extends another."""
    same = [ForeignKey(f"{parent}.id")] if parent else []
    return Column("id", Integer, *same, primary_key=True, autoincrement=False)


def foreign_key(name: str, table: str, *, nullable: bool = False) -> Column[int]:
    """Return a foreign key to the id of a table."""
    return Column(name, ForeignKey(f"{table}.id"), nullable=nullable)


def deferred_foreign_key(name: str, table: str) -> Column[int]:
    """Return a foreign key that is checked on commit, for rows written before the row that they refer to."""
    return Column(name, ForeignKey(f"{table}.id", deferrable=True, initially="DEFERRED"), nullable=False)


Table(
    "source",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    required_column("title", Text),
    required_column("publisher", Text),
    Column("date", Text),
    required_column("kind", Text),
    Column("note", Text),
    check_one_of("kind", SOURCE_KINDS),
    UniqueConstraint("slug"),
)

# One number as one document states it: ``value`` exact, in base units, one direction; ``shown`` for people.
# ``differs_in``: the kind of disagreement among the facts of its subject and attribute (catalog.facts.conflict_kind);
# ``others``: the other values that they state; ``dispute``: its value and what contradicts it. Both are for people.
Table(
    "fact",
    METADATA,
    primary_key(),
    required_column("subject", Text),
    required_column("attribute", Text),
    required_column("dimension", Text),
    foreign_key("source_id", "source"),
    required_column("written", Text),
    required_column("unit", Text),
    required_column("quote", Text),
    Column("reading_unit", Text),
    Column("reading_direction", Text),
    Column("grounds", Text),
    Column("formula", Text),
    Column("value", BIGINT),
    Column("shown", Text),
    required_column("preference", Integer),
    required_column("disputed", Boolean),
    Column("note", Text),
    Column("differs_in", Text),
    Column("others", Text),
    Column("dispute", Text),
    check_one_of("reading_direction", DIRECTIONS, nullable=True),
    check_one_of("differs_in", CONFLICT_KINDS, nullable=True),
    CheckConstraint("preference >= 0", name="preference"),
    UniqueConstraint("subject", "attribute", "preference"),
    Index(None, "source_id"),
)

Table(
    "chip_model",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    required_column("name", Text),
    required_column("generation", Text),
    required_column("core_model", Text),
    required_column("cores", Integer),
    required_column("device_memory_bytes", BIGINT),
    required_column("device_memory_bandwidth_bytes_per_s", BIGINT),
    Column("mxfp8_gflops", BIGINT),
    Column("fp8_gflops", BIGINT),
    Column("bf16_gflops", BIGINT),
    Column("fp32_gflops", BIGINT),
    Column("sparse_gflops", BIGINT),
    Column("int8_gops", BIGINT),
    check_positive("cores"),
    check_positive("device_memory_bytes"),
    check_positive("device_memory_bandwidth_bytes_per_s"),
    UniqueConstraint("slug"),
)

Table(
    "server_model",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    foreign_key("chip_model_id", "chip_model"),
    required_column("chips", Integer),
    required_column("vcpus", Integer),
    required_column("host_memory_bytes", BIGINT),
    check_positive("chips"),
    check_positive("vcpus"),
    check_positive("host_memory_bytes"),
    UniqueConstraint("slug"),
    Index(None, "chip_model_id"),
)

Table(
    "domain_model",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    required_column("name", Text),
    foreign_key("server_model_id", "server_model"),
    required_column("wiring", Text),
    required_column("sides", Text),
    required_column("servers", Integer),
    required_column("chips", Integer),
    check_positive("servers"),
    check_positive("chips"),
    UniqueConstraint("slug"),
    Index(None, "server_model_id"),
)

Table(
    "link_model",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    required_column("technology", Text),
    required_column("scope", Text),
    Column("lanes", Integer),
    required_column("bandwidth_bytes_per_s", BIGINT),
    check_one_of("scope", LINK_SCOPES),
    check_positive("bandwidth_bytes_per_s"),
    CheckConstraint("lanes > 0", name="lanes"),
    UniqueConstraint("slug"),
)

Table(
    "switch_model",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    required_column("name", Text),
    UniqueConstraint("slug"),
)

# A named fleet. In each table its rows have consecutive ids from ``first_…_id`` on, in the order of seeding; a cluster
# that can grow has a gap before its fabric. ``domain_model_id`` is null if its domains are of several models.
Table(
    "cluster",
    METADATA,
    primary_key(),
    required_column("slug", Text),
    required_column("system", Text),
    foreign_key("domain_model_id", "domain_model", nullable=True),
    required_column("domains", Integer),
    required_column("first_domain_id", Integer),
    required_column("first_rack_id", Integer),
    required_column("first_server_id", Integer),
    required_column("first_tray_id", Integer),
    required_column("first_node_id", Integer),
    required_column("first_core_id", Integer),
    required_column("first_link_id", Integer),
    Column("known_from", Integer),
    Column("known_since", Text),
    check_positive("domains"),
    UniqueConstraint("slug"),
    Index(None, "domain_model_id"),
)

Table(
    "domain",
    METADATA,
    primary_key(),
    foreign_key("cluster_id", "cluster"),
    foreign_key("domain_model_id", "domain_model"),
    required_column("ordinal", Integer),
    check_ordinal(),
    UniqueConstraint("cluster_id", "ordinal"),
)

Table(
    "rack",
    METADATA,
    primary_key(),
    foreign_key("cluster_id", "cluster"),
    required_column("ordinal", Integer),
    required_column("rack_units", Integer),
    check_ordinal(),
    check_positive("rack_units"),
    UniqueConstraint("cluster_id", "ordinal"),
)

Table(
    "server",
    METADATA,
    primary_key(),
    foreign_key("domain_id", "domain"),
    foreign_key("rack_id", "rack"),
    foreign_key("server_model_id", "server_model"),
    required_column("ordinal", Integer),
    *condition_columns(),
    check_ordinal(),
    UniqueConstraint("domain_id", "ordinal"),
    Index(None, "rack_id"),
)

# A tray of a server, head trays first; its height in rack units if documented.
Table(
    "tray",
    METADATA,
    primary_key(),
    foreign_key("server_id", "server"),
    required_column("ordinal", Integer),
    required_column("kind", Text),
    Column("rack_units", Integer),
    check_ordinal(),
    check_one_of("kind", TRAY_KINDS),
    CheckConstraint("rack_units > 0", name="rack_units"),
    UniqueConstraint("server_id", "ordinal"),
)

# A vertex: every chip, switch, NIC and network node; a network node belongs to no domain.
Table(
    "node",
    METADATA,
    primary_key(),
    required_column("kind", String(12)),
    foreign_key("cluster_id", "cluster"),
    foreign_key("domain_id", "domain", nullable=True),
    *condition_columns(),
    *condition_columns("own_"),
    check_one_of("kind", NODE_KINDS),
    Index(None, "domain_id"),
    Index(None, "cluster_id", "kind"),
    unhealthy_index("node"),
)

Table(
    "chip",
    METADATA,
    primary_key(parent="node"),
    foreign_key("server_id", "server"),
    foreign_key("tray_id", "tray", nullable=True),
    foreign_key("chip_model_id", "chip_model"),
    required_column("ordinal", Integer),
    check_ordinal(),
    UniqueConstraint("server_id", "ordinal"),
    Index(None, "tray_id"),
)

# A switch of a server, or of a rack (server_id is null); ordinals count within the domain. Its model is null where the
# catalog names none.
Table(
    "switch",
    METADATA,
    primary_key(parent="node"),
    foreign_key("server_id", "server", nullable=True),
    foreign_key("rack_id", "rack"),
    required_column("ordinal", Integer),
    foreign_key("switch_model_id", "switch_model", nullable=True),
    check_ordinal(),
    Index(None, "server_id"),
    Index(None, "rack_id"),
)

Table(
    "nic",
    METADATA,
    primary_key(parent="node"),
    foreign_key("server_id", "server"),
    required_column("ordinal", Integer),
    required_column("bandwidth_bytes_per_s", BIGINT),
    check_ordinal(),
    check_positive("bandwidth_bytes_per_s"),
    UniqueConstraint("server_id", "ordinal"),
)

# A node of the EFA fabric; tier 1 is on top, ordinals count within the tier. ``vendor_id`` is EC2's id, if the fabric
# was observed.
Table(
    "network_node",
    METADATA,
    primary_key(parent="node"),
    required_column("tier", Integer),
    required_column("ordinal", Integer),
    Column("vendor_id", Text),
    check_ordinal(),
    check_positive("tier"),
    Index(None, "tier", "ordinal"),
)

Table(
    "core",
    METADATA,
    primary_key(),
    foreign_key("chip_id", "chip"),
    required_column("ordinal", Integer),
    check_ordinal(),
    UniqueConstraint("chip_id", "ordinal"),
)

# An edge between nodes a < b; the bandwidth is what one direction carries when healthy, over all its cables.
#
# A link of scope fabric goes from a NIC or network node to the network node above; between two network nodes it
# belongs to no domain.
Table(
    "link",
    METADATA,
    primary_key(),
    foreign_key("a_id", "node"),
    foreign_key("b_id", "node"),
    foreign_key("domain_id", "domain", nullable=True),
    foreign_key("link_model_id", "link_model"),
    required_column("bandwidth_bytes_per_s", BIGINT),
    Column("lanes", Integer),
    required_column("cables", Integer, server_default="1"),
    required_column("technology", Text),
    required_column("scope", String(8)),
    *condition_columns(),
    CheckConstraint("a_id < b_id", name="order"),
    check_positive("bandwidth_bytes_per_s"),
    CheckConstraint("lanes > 0", name="lanes"),
    check_positive("cables"),
    check_one_of("scope", LINK_SCOPES),
    UniqueConstraint("a_id", "b_id"),
    Index(None, "b_id"),
    Index(None, "domain_id"),
    Index("ix_link_kind", "link_model_id", "state", "scope", "bandwidth_bytes_per_s", "cables"),  # for sums over all
    unhealthy_index("link"),
)

# A recorded change of a part's state, with author and reason. The triggers of trninv.inventory.triggers.event_triggers
# insert the rows; nothing updates them. Null columns were not recorded before schema version 0017.
#
# ``batch``: the first event of the same change. ``previous_id``: the previous event of this part.
# ``own_…``: as in node. ``clock_went_back``: the event before it has a later time.
#
# With an ``action`` the row is about a job (``job`` is its name, ``part_id`` its id, ``address`` the smallest place
# with all its chips), or about a server (``part_id``, ``address``) that was cordoned or uncordoned. Such a row has no
# kind, and its states mean nothing. ``chip_ids``: the job's chips from then on (trninv.inventory.state.chip_ids); null:
# none, or the event is not about a job; empty: plain SQL began the job without naming chips.
Table(
    "state_event",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("who", Text),
    required_column("why", Text),
    required_column("address", Text),
    required_column("before", String(12)),
    Column("factor_ppm_before", Integer),
    *condition_columns(),
    check_one_of("before", STATES),
    Column("batch", Integer),
    Column("source", String(8)),
    Column("kind", String(12)),
    Column("part_id", Integer),
    Column("previous_id", Integer),
    Column("own_before", String(12)),
    Column("own_factor_ppm_before", Integer),
    Column("own_state", String(12)),
    Column("own_factor_ppm", Integer),
    required_column("clock_went_back", Boolean, server_default=text("false")),
    Column("action", String(8)),
    Column("job", Text),
    Column("chip_ids", Text),
    check_one_of("source", EVENT_SOURCES, nullable=True),
    check_one_of("kind", PART_KINDS, nullable=True),
    check_one_of("action", ACTIONS, nullable=True),
    Index(None, "address"),
    Index(None, "batch"),
    Index("ix_state_event_part", "kind", "part_id", "id"),
    Index("ix_state_event_at", "at", "id"),
    Index("ix_state_event_lost", "id", "previous_id", "kind", "part_id", sqlite_where=text("before <> 'up'")),
    Index("ix_state_event_back", "id", "at", sqlite_where=text("clock_went_back")),
    Index("ix_state_event_action", "action", "part_id", "id", sqlite_where=text("action IS NOT NULL")),
)

# The digest of all events up to this one and of the rows of history_start up to ``starts``
# (trninv.inventory.state.hash_chain). Rows are never updated.
Table("event_seal", METADATA, primary_key(), required_column("sha256", String(64)), Column("starts", Integer))

# The state of a cluster from which the events after ``event`` lead to the present one
# (trninv.inventory.state.history_start). The newest row of a cluster counts. Rows are never updated, and deleted only
# after an archive has made them superfluous.
Table(
    "history_start",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("event", Integer),
    required_column("cluster_id", Integer),
    required_column("cluster", Text),
    required_column("cause", String(8)),
    required_column("state", Text),
    check_one_of("cause", tuple(START_CAUSE_MEANINGS)),
)

# Events up to this one exist only in an archive. ``sha256``: their seal, with which the history begins. ``since``: the
# time of the first event after them. ``directory``: where the archive was written. Rows are never updated.
Table(
    "history_archive",
    METADATA,
    primary_key(),
    required_column("sha256", String(64)),
    required_column("at", Text),
    required_column("since", Text),
    required_column("directory", Text),
    required_column("who", Text),
)

# Events up to ``event`` were sealed again, since a schema version renamed their actions; ``sha256``: their seal before.
# ``archived``: the last event that existed only in an archive then. Rows are never updated.
Table(
    "seal_restart",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("event", Integer),
    required_column("archived", Integer),
    required_column("sha256", String(64)),
    required_column("schema_version", Text),
)

# Author and reason of the change in this transaction, which triggers copy into its events. Empty outside transactions.
Table(
    "_change",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("who", Text),
    required_column("why", Text),
    required_column("source", Text),
    Column("batch", Integer),
)

# An imported file: its source, when it was written and imported, and when the same content was last written
# (``seen_at``). Only ``seen_at`` and ``is_cited`` ever change. ``speaker``: the instance or host that a file about one
# machine belongs to. Rows of a speaker may be deleted once 100 newer ones exist and no finding cites them.
Table(
    "observation",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("source", String(16)),
    required_column("name", Text),
    required_column("sha256", String(64)),
    required_column("taken_at", Text),
    required_column("seen_at", Text),
    required_column("is_whole", Boolean),
    required_column("servers", Integer),
    required_column("chips", Integer),
    Column("speaker", Text),
    required_column("is_cited", Boolean, server_default=text("false")),
    UniqueConstraint("source", "sha256"),
    Index("ix_observation_speaker", "source", "speaker", "seen_at", "id"),
)

# An instance as a file reports it; lists are text separated by blanks. These rows and those of the next two tables are
# never updated, and are deleted with their observation.
Table(
    "observed_server",
    METADATA,
    primary_key(),
    deferred_foreign_key("observation_id", "observation"),
    Column("instance", Text),
    Column("host", Text),
    Column("instance_type", Text),
    Column("zone", Text),
    Column("reservation", Text),
    Column("capacity_block", Text),
    Column("network_nodes", Text),
    Column("ultraserver", Text),
    Column("position", Integer),
    Column("ultraserver_mode", Text),
    Column("state", String(12)),
    Column("reason", Text),
    Column("logical_cores", Integer),
    Column("chip_count", Integer),
    required_column("is_partial", Boolean),
    Column("missing_fields", Text),  # columns that its source should have filled, here or for a chip
    check_one_of("state", STATES, nullable=True),
    CheckConstraint("instance IS NOT NULL OR host IS NOT NULL", name="named"),
    Index(None, "observation_id"),
    Index(None, "instance"),
    Index(None, "host"),
)

Table(
    "observed_chip",
    METADATA,
    primary_key(),
    deferred_foreign_key("observed_server_id", "observed_server"),
    required_column("ordinal", Integer),
    Column("bdf", Text),
    Column("serial", Text),
    Column("memory_bytes", BIGINT),
    Column("cores", Integer),
    Column("numa_node", Integer),
    Column("neighbours", Text),
    Column("efa_bdf", Text),
    Column("ecc_uncorrected", BIGINT),
    Column("taints", Text),  # of a Kubernetes device: KEY=VALUE:EFFECT, separated by blanks
    check_ordinal(),
    UniqueConstraint("observed_server_id", "ordinal"),
)

# The state of many links at once: a side (H, V) of a host, or the interconnect of a capacity block.
Table(
    "observed_link",
    METADATA,
    primary_key(),
    deferred_foreign_key("observation_id", "observation"),
    Column("host", Text),
    Column("capacity_block", Text),
    required_column("part", String(12)),
    required_column("state", String(20)),
    check_one_of("part", ("H", "V", "interconnect")),
    Index(None, "observation_id"),
)

# A binding of an instance to a slot (a server's place in the design), open while ``ended_at`` is null. No two open rows
# share a slot, instance or host. ``server_id`` is no foreign key, so that the history outlives its cluster: it is valid
# only while the row is open. Ending a row writes ``ended_at``, ``ending`` and ``ended_by`` once; nothing else changes.
Table(
    "binding",
    METADATA,
    primary_key(),
    required_column("server_id", Integer),
    required_column("address", Text),  # of the slot, such as lab/d0/s1
    Column("instance", Text),  # i-…; null if only the host name is known
    Column("host", Text),  # its name; null if unknown
    required_column("started_at", Text),  # UTC, as trninv.units formats it
    Column("ended_at", Text),
    required_column("method", String(16)),  # one of BINDING_METHOD_MEANINGS
    required_column("confidence", String(16)),  # one of CONFIDENCE_MEANINGS
    Column("evidence", Text),  # of an inference, in words that change only with the evidence
    required_column("who", Text),
    Column("ending", String(16)),  # one of BINDING_END_MEANINGS
    Column("ended_by", Text),
    CheckConstraint("instance IS NOT NULL OR host IS NOT NULL", name="named"),
    Index(None, "address"),
    *(
        Index(f"uq_binding_{column}_open", column, unique=True, sqlite_where=_IS_OPEN)
        for column in ("server_id", "instance", "host")
    ),
)

# A difference between observation and design, open while ``cleared_at`` is null. Only ``last_seen`` and, once,
# ``cleared_at`` are updated. A difference that comes back after it was cleared is a new row.
Table(
    "finding",
    METADATA,
    primary_key(),
    required_column("rule", String(24)),  # one of trninv.database.finding_rules.FINDING_RULES
    required_column("severity", String(8)),
    Column("address", Text),  # slot, chip, link, domain, network node or cluster; null for an instance without a slot
    Column("instance", Text),  # or the host name, if only that is known
    Column("expected", Text),  # for people
    Column("observed", Text),
    Column("evidence", Text),  # ids of observations, separated by blanks
    required_column("first_seen", Text),  # UTC, as trninv.units formats it
    required_column("last_seen", Text),
    Column("cleared_at", Text),
    check_one_of("severity", SEVERITIES),
    Index(None, "address"),
    Index("ix_finding_open", "rule", sqlite_where=text("cleared_at IS NULL")),
)

# When observations were last compared with the design: one row, or none before the first comparison.
Table(
    "comparison",
    METADATA,
    primary_key(),
    required_column("at", Text),  # UTC, as trninv.units formats it
    CheckConstraint("id = 1", name="one"),
)

# Sets of chips of a server, or of servers of a domain, that may be allocated to a job: bit i of the mask is the unit
# with ordinal i; null: any ``size`` units of a rack.
Table(
    "legal_set",
    METADATA,
    primary_key(),
    foreign_key("domain_model_id", "domain_model"),
    required_column("unit", Text),
    required_column("size", Integer),
    required_column("ordinal", Integer),
    Column("mask", BIGINT),
    check_one_of("unit", ("chip", "server")),
    check_positive("size"),
    check_ordinal(),
    UniqueConstraint("domain_model_id", "unit", "size", "ordinal"),
    sqlite_strict=True,
)

# A job with allocated chips, under its system's id. A move ends its row and begins another, so that each row has its
# own author; ``first_started_at`` is then the start of the first one. ``place``: the smallest place with all its chips.
# ``moved_at``: when it last moved, within its row or, if equal to ``ended_at``, to another row. ``chip_ids``: its
# chips, for the events.
Table(
    "job",
    METADATA,
    primary_key(),
    foreign_key("cluster_id", "cluster"),
    required_column("name", Text),
    required_column("system", Text),
    required_column("external_id", Text),
    Column("submitted_at", Text),
    required_column("started_at", Text),
    Column("ended_at", Text),
    Column("priority", Integer),
    required_column("pinned", Integer, server_default="0"),
    required_column("who", Text),
    Column("first_started_at", Text),
    Column("place", Text),
    Column("moved_at", Text),
    Column("chip_ids", Text),
    CheckConstraint("pinned IN (0, 1)", name="pinned"),
    Index(None, "cluster_id"),
    unique_while_open("job", "system", "external_id", ended="ended_at"),
    sqlite_strict=True,
)

# A chip allocated to a job, from ``started_at`` to ``ended_at``; rows are ended, not deleted. Strict, so that a value
# of another type cannot get past the index that allows one open allocation per chip.
Table(
    "allocation",
    METADATA,
    primary_key(),
    foreign_key("job_id", "job"),
    foreign_key("chip_id", "chip"),
    required_column("role", Text),
    required_column("started_at", Text),
    Column("ended_at", Text),
    check_one_of("role", ("work", "spare")),
    Index(None, "job_id", "chip_id"),
    unique_while_open("allocation", "chip_id", ended="ended_at"),
    sqlite_strict=True,
)

# A cordon: the server takes no new jobs from ``started_at`` to ``ended_at``; running jobs continue.
Table(
    "cordon",
    METADATA,
    primary_key(),
    foreign_key("server_id", "server"),
    required_column("started_at", Text),
    Column("ended_at", Text),
    required_column("who", Text),
    required_column("why", Text),
    unique_while_open("cordon", "server_id", ended="ended_at"),
    sqlite_strict=True,
)

# The allocated chips of a domain as bits by server and ordinal, 64 per word; no row if none. Written by triggers.
Table(
    "domain_allocated",
    METADATA,
    primary_key(parent="domain"),
    *(required_column(f"allocated_{word}", BIGINT) for word in range(BITMASK_WORDS)),
    sqlite_strict=True,
)

JOB_TABLES = ("allocation", "cordon", "domain_allocated", "job")
"""The tables of jobs, allocations and cordons, in the order in which their rows are deleted."""

# A bearer token: its name and scope, and its reported rows and bytes since the start of an hour (``quota_hour``).
Table(
    "token",
    METADATA,
    primary_key(),
    required_column("name", Text),
    required_column("scope", String(8)),
    required_column("created", Text),
    Column("expires", Text),
    Column("revoked", Text),
    Column("quota_hour", Text),
    Column("quota_rows", Integer),
    Column("quota_bytes", BIGINT),
    check_one_of("scope", TOKEN_SCOPES),
    UniqueConstraint("name"),
)

# A token's digest. Datasette and similar tools do not list tables whose names start with an underscore.
Table(
    "_token_digest", METADATA, primary_key("token"), required_column("sha256", String(64)), UniqueConstraint("sha256")
)

CLOSED = frozenset({"token", "_token_digest", "_change"})
"""Tables that users' queries may not read."""
