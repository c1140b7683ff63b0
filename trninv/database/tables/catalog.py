"""Tables of what documents state: sources, facts, models and the legal sets of chips for a job."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)

from trninv.catalog.facts import CONFLICT_KINDS, DIRECTIONS, SOURCE_KINDS
from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    check_one_of,
    check_ordinal,
    check_positive,
    foreign_key,
    primary_key,
    required_column,
)
from trninv.database.tables.vocabulary import LINK_SCOPES

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
# ``others``: the other values that those facts state, and ``dispute``: its value and what contradicts it, for people.
# ``reading_unit``, ``reading_direction``, ``reading_reason``: how the written number is to be read, if not literally,
# and why. ``preference``: 0 for the fact that is used. ``disputed``: whether sources disagree about it, or a note
# explains it.
Table(
    "fact",
    METADATA,
    primary_key(),
    required_column("subject", Text),
    required_column("attribute", Text),
    required_column("dimension", Text),
    foreign_key("source_id", "source"),
    required_column("as_written", Text),
    required_column("unit", Text),
    required_column("quote", Text),
    Column("reading_unit", Text),
    Column("reading_direction", Text),
    Column("reading_reason", Text),
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

# ``wiring``: the name of the wiring pattern; ``sides``: its dimensions, such as 4x4x4 for a torus.
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

# Sets of chips of a server, or of servers of a domain, that schedulers may allocate to a job: bit i of ``mask`` is the
# chip or server with ordinal i. If the mask is null, any ``size`` servers of one of the domain's racks are such a set.
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
