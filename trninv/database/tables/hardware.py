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
    described,
    foreign_key,
    primary_key,
    required_column,
    unhealthy_index,
)
from trninv.database.tables.vocabulary import LINK_SCOPES, NODE_KINDS, TRAY_KINDS

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
    info=described(
        "a named fleet. `first_…_id` is the first id of its rows in a table; a cluster that can grow has a gap before "
        "its fabric",
        slug="its name, unique",
        system="the system it was seeded from, or `adopted`",
        domain_model_id="null if it was adopted with several models; domains of one model are then consecutive",
        domains="their number",
        known_from="the last event before `known_since`",
        known_since="the time from which its history is known; null: it has none",
    ),
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
    info=described("a NeuronLink scale-up domain: a Trn1 or Trn2 server, or an UltraServer"),
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
    info=described("a rack"),
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
    info=described("a slot: the hardware of one EC2 instance"),
)

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
    info=described(
        "a tray of a server, head trays first",
        kind="head, compute",
        rack_units="null: not documented",
    ),
)

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
    info=described(
        "a vertex",
        kind="chip, switch, nic, network_node",
        domain_id="null for a network node",
        state="up, degraded, down, maintenance",
        factor_ppm="for a degraded part, the fraction of its bandwidth that is left, in millionths; null: all of it",
        own_state="its own state while its server is unhealthy, else null",
    ),
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
    info=described(
        "a chip; `id` is its node's",
        ordinal="the device number of `neuron-ls`",
    ),
)

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
    info=described(
        "a NeuronLink switch; `id` is its node's",
        server_id="null if it belongs to the rack",
        ordinal="in the domain",
        switch_model_id="null: not in the catalog",
    ),
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
    info=described("an EFA device; `id` is its node's"),
)

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
    info=described(
        "a node of the EFA fabric; `id` is its node's",
        tier="1 is on top; in a seeded cluster, 3 is next to the NICs",
        ordinal="in the tier",
        vendor_id="its id in EC2; null in a seeded cluster",
    ),
)

Table(
    "core",
    METADATA,
    primary_key(),
    foreign_key("chip_id", "chip"),
    required_column("ordinal", Integer),
    check_ordinal(),
    UniqueConstraint("chip_id", "ordinal"),
    info=described("a physical NeuronCore"),
)

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
    info=described(
        "an edge between nodes `a_id` < `b_id`; one of scope fabric goes from a NIC or network node to the network "
        "node above",
        domain_id="null between network nodes",
        bandwidth_bytes_per_s="one direction when healthy, over all its cables",
        scope="server, rack, domain, host, fabric",
    ),
)

# Written by triggers and bulk loads (trninv.database.part_counts).
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
    info=described(
        "how many parts of one cluster, kind, model, scope and state there are. Triggers maintain it, and `verify` "
        "checks it; rows loaded with `COPY` are not counted, since a dump has their counts; views of an earlier time "
        "count no allocations",
        kind="domain, rack, server, link, core, a kind of node, or allocation: an allocated chip",
        model_id="of chips, servers, domains or links; of a NIC, its server's; of a switch, its domain's; 0: none",
        scope="of links",
        state="a core has its chip's; domains and racks are up",
        number="may be 0",
        cables="sum",
        bandwidth_bytes_per_s="sum",
    ),
)
