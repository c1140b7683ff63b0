"""Tables of what machines and managers reported or measured, and of what follows: bindings and findings."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from trninv.database.finding_rules import SEVERITIES
from trninv.database.tables.columns import (
    BIGINT,
    IS_OPEN,
    METADATA,
    check_one_of,
    check_ordinal,
    check_positive,
    deferred_foreign_key,
    primary_key,
    required_column,
)
from trninv.database.tables.vocabulary import STATES

# An imported file: its source, when it was written (``taken_at``) and imported (``at``), and when the same content was
# last written (``seen_at``). Only ``seen_at`` and ``is_cited`` ever change. ``speaker``: the instance or host that
# reported, if the file is from a tool on a single machine, or the name of a listing that discovery pulls. ``is_whole``:
# whether it lists every instance of an account or cluster. ``servers`` and ``chips``: how many it describes. Rows of a
# speaker may be deleted once at least 100 newer rows exist and no finding cites them (``is_cited``).
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
    Column("scheduler_block", Text),  # the lowest group of servers that a scheduler has it in
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

# How fast a collective or a transfer ran. ``address`` is the place of its chips: a server, or the smallest place with
# all servers. A transfer leads from ``address`` to ``peer``. Both are text, so that the row outlives its cluster.
# ``event`` is the number of the last event at that moment. Bandwidths are of a chip, in one direction, and
# ``limit_bandwidth`` is what the wiring allowed then; null if trninv has no limit for the operation.
Table(
    "measurement",
    METADATA,
    primary_key(),
    deferred_foreign_key("observation_id", "observation"),
    required_column("operation", String(16)),  # one of MEASURED_OPERATIONS
    required_column("address", Text),
    Column("peer", Text),
    Column("machine", Text),  # the instance, or the host name, that was bound to the server
    required_column("measured_at", Text),  # UTC, as trninv.units formats it
    required_column("event", Integer),
    required_column("chips", Integer),
    Column("ranks", Integer),
    Column("logical_cores", Integer),  # physical cores of a rank
    Column("data_type", String(16)),
    required_column("bytes", BIGINT),
    required_column("nanoseconds", BIGINT),
    required_column("algorithm_bandwidth", BIGINT),
    required_column("bus_bandwidth", BIGINT),
    Column("limit_bandwidth", BIGINT),
    check_positive("bytes"),
    check_positive("nanoseconds"),
    Index(None, "address"),
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
        Index(f"uq_binding_{column}_open", column, unique=True, sqlite_where=IS_OPEN)
        for column in ("server_id", "instance", "host")
    ),
)

# A difference between observation and design, open while ``cleared_at`` is null. Only ``last_seen`` and, once,
# ``cleared_at`` are updated. A difference that returns after it was cleared gets a new row.
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

# A target that ``trninv discover`` pulls, such as aws:us-east-2 (trninv.discovery). ``identity``: the account or
# cluster that answered. ``started_at``: of the latest pull; ``read_at``: of the latest one that was stored, which is
# late from ``late_at``. ``error``: why the latest pull failed. ``holder``: the process that pulls now; ``renewed``:
# when it renewed its lease, by the database's clock, in seconds since 1970.
Table(
    "discovery",
    METADATA,
    primary_key(),
    required_column("target", Text),
    Column("identity", Text),
    Column("every_seconds", Integer),
    required_column("started_at", Text),
    Column("read_at", Text),
    Column("late_at", Text),
    Column("result", Text),
    Column("error", Text),
    Column("holder", Text),
    Column("renewed", BIGINT),
    UniqueConstraint("target"),
)

# When observations were last compared with the design: one row, or none before the first comparison.
Table(
    "comparison",
    METADATA,
    primary_key(),
    required_column("at", Text),  # UTC, as trninv.units formats it
    CheckConstraint("id = 1", name="one"),
)
