"""Tables of what exists: clusters, servers, chips and links."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    check_one_of,
    check_ordinal,
    check_positive,
    condition_columns,
    foreign_key,
    primary_key,
    required_column,
    unhealthy_index,
)
from trninv.database.tables.vocabulary import LINK_SCOPES, NODE_KINDS, TRAY_KINDS

# A named fleet. In each table its rows have consecutive ids that start at ``first_…_id``, in the order of seeding; a
# cluster that can grow has a gap before its fabric. ``domain_model_id`` is null if its domains are of several models.
# ``known_since`` and ``known_from``: its recorded history begins at this time, after this event; null if it has none.
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
    Index(None, "server_model_id", "id"),
    unhealthy_index("server"),
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
    Index(None, "chip_model_id", "id"),
)

# A switch of a server, or of a rack (server_id is null); ordinals count within the domain. Its model is null if the
# catalog names no model.
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
    unhealthy_index("link"),
)

# How many parts of one cluster, kind, model, scope and state exist, and the sums of their cables and bandwidths.
# ``kind``: domain, rack, server, link, core, a kind of node, or allocation (an allocated chip). ``model_id``: the model
# of its chips, servers or links; of a NIC that of its server, of a switch that of its domain; 0: none. ``scope``: of
# links. Domains and racks are up; a core has the state of its chip. Written by triggers and bulk loads
# (trninv.database.part_counts); ``number`` may be 0.
Table(
    "part_count",
    METADATA,
    Column("cluster_id", ForeignKey("cluster.id"), primary_key=True, autoincrement=False),
    Column("kind", String(12), primary_key=True),
    Column("model_id", Integer, primary_key=True, autoincrement=False),
    Column("scope", String(8), primary_key=True),
    Column("state", String(12), primary_key=True),
    *(required_column(name, BIGINT) for name in ("number", "cables", "bandwidth_bytes_per_s")),
    sqlite_with_rowid=False,
)
