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
    described,
    primary_key,
    required_column,
)
from trninv.database.tables.vocabulary import STATES

# Only ``seen_at`` and ``is_cited`` ever change. Rows of a speaker may be deleted once at least 100 newer rows exist
# and no finding cites them.
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
    info=described(
        "an imported file",
        at="of the import",
        sha256="of its bytes, and also of the host if only the file's name states it",
        taken_at="when it was written",
        seen_at="when the same content was last written",
        is_whole="it lists every instance",
        servers="how many it describes",
        speaker="the instance or host that a tool on one machine describes, or a listing that discovery pulls; null: "
        "any other file",
        is_cited="a finding cites it",
    ),
)

# These rows and those of the next two tables are never updated, and are deleted with their observation.
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
    info=described(
        "what a file says about an instance; a column is null if the file does not say",
        network_nodes="top layer first",
        position="in its UltraServer, as elected by its driver",
        ultraserver_mode="as elected, too",
        logical_cores="the logical core configuration",
        is_partial="a container: there may be more chips",
        missing_fields="columns of the server and its chips that the source should fill and did not",
        scheduler_block="the block, or lowest switch, that a scheduler has it in; `-`: none",
    ),
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
    info=described(
        "a chip in a file",
        neighbours="from the driver's table, not measured",
        taints="as a Kubernetes device: `KEY=VALUE:EFFECT`, separated by blanks",
    ),
)

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
    info=described(
        "what a file says about several links: those of a host or the interconnect of a capacity block",
        part="H (links to the other rack), V (links within it) or interconnect",
    ),
)

# ``address`` and ``peer`` are text, so that the row outlives its cluster.
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
    info=described(
        "how fast a collective or a transfer ran",
        observation_id="its import",
        address="of its server, or the smallest place with all servers; the source of a transfer",
        peer="the target of a transfer",
        machine="the instance or host bound then",
        event="number of the last event up to then",
        logical_cores="physical cores of a rank",
        algorithm_bandwidth="bytes over time",
        bus_bandwidth="of a chip",
        limit_bandwidth="of the wiring at that time; null: unknown",
    ),
)

# ``server_id`` is no foreign key, so that the history outlives its cluster.
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
    info=described(
        "a slot's link to an instance; a slot, an instance and a host have at most one open row. `ended_at`, `ending` "
        "and `ended_by` are written once, at its end",
        server_id="valid while the binding is open",
        address="of the slot",
        evidence="of an inference",
    ),
)

# Only ``last_seen`` and, once, ``cleared_at`` are updated. A difference that returns after it was cleared gets a new
# row.
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
    info=described(
        "a difference between design and observation",
        severity="info, medium, high",
        address="null: an instance without a slot",
        instance="or its host, if only that is known",
        evidence="ids of observations",
        cleared_at="null: open",
    ),
)

# See trninv.discovery.
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
    Column("clusters", Text),
    UniqueConstraint("target"),
    info=described(
        "a target that `trninv discover` pulls",
        identity="the account or cluster that answered",
        started_at="of the latest pull",
        read_at="of the latest one that was stored",
        late_at="from when it is late",
        error="of the latest pull",
        holder="the process that pulls now",
        renewed="when it last reported, by the database's clock, in seconds since 1970",
        clusters="names of the clusters with servers that its latest stored pull listed, separated by blanks",
    ),
)

Table(
    "comparison",
    METADATA,
    primary_key(),
    required_column("at", Text),  # UTC, as trninv.units formats it
    CheckConstraint("id = 1", name="one"),
    info=described("the last run of `trninv drift`; the table has at most one row"),
)
