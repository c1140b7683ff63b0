"""The tables. ``node`` is the vertex table and ``link`` the edge table of the graph; the rest describes and contains.

Bandwidths are bytes per second in one direction, capacities bytes, compute 10⁹ operations per second.
"""

from typing import Annotated, Any, ClassVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
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
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from trninv.catalog.facts import DIRECTIONS, KINDS

Key = Annotated[int, mapped_column(primary_key=True, autoincrement=False)]
Big = Annotated[int, mapped_column(BigInteger().with_variant(Integer(), "sqlite"))]
"""63 bits: SQLite's INTEGER has them, PostgreSQL's does not."""

STATES = ("up", "degraded", "down", "maintenance")
"""What carries traffic: up and degraded do, down and maintenance do not."""

CARRYING = ("up", "degraded")

NODE_KINDS = ("chip", "switch", "nic", "network_node")
LINK_SCOPES = ("server", "rack", "domain", "host", "fabric")
WIRINGS = ("single", "torus", "switched")
TRAY_KINDS = ("head", "compute")


def one_of(column: str, values: tuple[str, ...], *, nullable: bool = False) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    test = f"{column} IN ({listed})"
    return CheckConstraint(f"{column} IS NULL OR {test}" if nullable else test, name=column)


def positive(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} > 0", name=column)


def ordinal(column: str = "ordinal") -> CheckConstraint:
    return CheckConstraint(f"{column} >= 0", name=column)


def is_not_up(table: Table) -> ColumnElement[bool]:
    """Rows that are not up: written so that the index of `not_up` serves, which a bound parameter would prevent."""
    return table.c.state != literal_column("'up'")


def not_up(table: str) -> Index:
    """Index of the few rows that are not up."""
    condition = text("state <> 'up'")
    return Index(f"ix_{table}_not_up", "id", sqlite_where=condition, postgresql_where=condition)


class Base(DeclarativeBase):
    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[object, object]] = {str: Text()}


class Source(Base):
    __tablename__ = "source"
    __table_args__ = (one_of("kind", KINDS), UniqueConstraint("slug"))

    id: Mapped[Key]
    slug: Mapped[str]
    title: Mapped[str]
    publisher: Mapped[str]
    date: Mapped[str | None]
    kind: Mapped[str]
    note: Mapped[str | None]


class Fact(Base):
    """One number as one document gives it; ``value`` is exact, in base units, one direction."""

    __tablename__ = "fact"
    __table_args__ = (
        one_of("reading_direction", DIRECTIONS, nullable=True),
        CheckConstraint("preference >= 0", name="preference"),
        UniqueConstraint("subject", "attribute", "preference"),
        Index(None, "source_id"),
    )

    id: Mapped[Key]
    subject: Mapped[str]
    attribute: Mapped[str]
    dimension: Mapped[str]
    source_id: Mapped[int] = mapped_column(ForeignKey("source.id"))
    written: Mapped[str]
    unit: Mapped[str]
    quote: Mapped[str]
    reading_unit: Mapped[str | None]
    reading_direction: Mapped[str | None]
    grounds: Mapped[str | None]
    formula: Mapped[str | None]
    value: Mapped[Big | None]
    preference: Mapped[int]
    disputed: Mapped[bool]
    note: Mapped[str | None]


class ChipModel(Base):
    __tablename__ = "chip_model"
    __table_args__ = (
        positive("cores"),
        positive("device_memory_bytes"),
        positive("device_memory_bandwidth_bytes_per_s"),
        UniqueConstraint("slug"),
    )

    id: Mapped[Key]
    slug: Mapped[str]
    name: Mapped[str]
    generation: Mapped[str]
    core_model: Mapped[str]
    cores: Mapped[int]
    device_memory_bytes: Mapped[Big]
    device_memory_bandwidth_bytes_per_s: Mapped[Big]
    mxfp8_gflops: Mapped[Big | None]
    fp8_gflops: Mapped[Big | None]
    bf16_gflops: Mapped[Big | None]
    fp32_gflops: Mapped[Big | None]
    sparse_gflops: Mapped[Big | None]
    int8_gops: Mapped[Big | None]


class ServerModel(Base):
    __tablename__ = "server_model"
    __table_args__ = (
        positive("chips"),
        positive("vcpus"),
        positive("host_memory_bytes"),
        UniqueConstraint("slug"),
        Index(None, "chip_model_id"),
    )

    id: Mapped[Key]
    slug: Mapped[str]
    chip_model_id: Mapped[int] = mapped_column(ForeignKey("chip_model.id"))
    chips: Mapped[int]
    vcpus: Mapped[int]
    host_memory_bytes: Mapped[Big]


class DomainModel(Base):
    __tablename__ = "domain_model"
    __table_args__ = (
        one_of("wiring", WIRINGS),
        positive("servers"),
        positive("chips"),
        UniqueConstraint("slug"),
        Index(None, "server_model_id"),
    )

    id: Mapped[Key]
    slug: Mapped[str]
    name: Mapped[str]
    server_model_id: Mapped[int] = mapped_column(ForeignKey("server_model.id"))
    wiring: Mapped[str]
    sides: Mapped[str]
    servers: Mapped[int]
    chips: Mapped[int]


class LinkModel(Base):
    __tablename__ = "link_model"
    __table_args__ = (
        one_of("scope", LINK_SCOPES),
        positive("bandwidth_bytes_per_s"),
        CheckConstraint("lanes > 0", name="lanes"),
        UniqueConstraint("slug"),
    )

    id: Mapped[Key]
    slug: Mapped[str]
    technology: Mapped[str]
    scope: Mapped[str]
    lanes: Mapped[int | None]
    bandwidth_bytes_per_s: Mapped[Big]


class Cluster(Base):
    """A named fleet. In each table its rows have consecutive ids from ``first_…_id`` on, in the order of stamping."""

    __tablename__ = "cluster"
    __table_args__ = (positive("domains"), UniqueConstraint("slug"), Index(None, "domain_model_id"))

    id: Mapped[Key]
    slug: Mapped[str]
    system: Mapped[str]
    domain_model_id: Mapped[int] = mapped_column(ForeignKey("domain_model.id"))
    domains: Mapped[int]
    first_domain_id: Mapped[int]
    first_rack_id: Mapped[int]
    first_server_id: Mapped[int]
    first_tray_id: Mapped[int]
    first_node_id: Mapped[int]
    first_core_id: Mapped[int]
    first_link_id: Mapped[int]


class Domain(Base):
    __tablename__ = "domain"
    __table_args__ = (
        ordinal(),
        UniqueConstraint("cluster_id", "ordinal"),
    )

    id: Mapped[Key]
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    domain_model_id: Mapped[int] = mapped_column(ForeignKey("domain_model.id"))
    ordinal: Mapped[int]


class Rack(Base):
    __tablename__ = "rack"
    __table_args__ = (ordinal(), positive("rack_units"), UniqueConstraint("cluster_id", "ordinal"))

    id: Mapped[Key]
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    ordinal: Mapped[int]
    rack_units: Mapped[int]


class Server(Base):
    __tablename__ = "server"
    __table_args__ = (
        ordinal(),
        UniqueConstraint("domain_id", "ordinal"),
        Index(None, "rack_id"),
    )

    id: Mapped[Key]
    domain_id: Mapped[int] = mapped_column(ForeignKey("domain.id"))
    rack_id: Mapped[int] = mapped_column(ForeignKey("rack.id"))
    server_model_id: Mapped[int] = mapped_column(ForeignKey("server_model.id"))
    ordinal: Mapped[int]


class Tray(Base):
    """A tray of a server, its head trays first; height in rack units where documented."""

    __tablename__ = "tray"
    __table_args__ = (
        ordinal(),
        one_of("kind", TRAY_KINDS),
        CheckConstraint("rack_units > 0", name="rack_units"),
        UniqueConstraint("server_id", "ordinal"),
    )

    id: Mapped[Key]
    server_id: Mapped[int] = mapped_column(ForeignKey("server.id"))
    ordinal: Mapped[int]
    kind: Mapped[str]
    rack_units: Mapped[int | None]


class Node(Base):
    """A vertex: every chip, switch, NIC and network node; a network node is of no domain."""

    __tablename__ = "node"
    __table_args__: Any = (
        one_of("kind", NODE_KINDS),
        one_of("state", STATES),
        Index(None, "domain_id"),
        Index(None, "cluster_id", "kind"),
        not_up("node"),
    )
    __mapper_args__ = {"polymorphic_on": "kind"}  # noqa: RUF012 # as SQLAlchemy types it

    id: Mapped[Key]
    kind: Mapped[str] = mapped_column(String(12))
    cluster_id: Mapped[int] = mapped_column(ForeignKey("cluster.id"))
    domain_id: Mapped[int | None] = mapped_column(ForeignKey("domain.id"))
    state: Mapped[str] = mapped_column(String(12), server_default="up")


class Chip(Node):
    __tablename__ = "chip"
    __table_args__ = (
        ordinal(),
        UniqueConstraint("server_id", "ordinal"),
        Index(None, "tray_id"),
    )
    __mapper_args__ = {"polymorphic_identity": "chip"}  # noqa: RUF012 # as SQLAlchemy types it

    id: Mapped[int] = mapped_column(ForeignKey("node.id"), primary_key=True)
    server_id: Mapped[int] = mapped_column(ForeignKey("server.id"))
    tray_id: Mapped[int | None] = mapped_column(ForeignKey("tray.id"))
    chip_model_id: Mapped[int] = mapped_column(ForeignKey("chip_model.id"))
    ordinal: Mapped[int]


class Switch(Node):
    """A switch of one server, or of one rack (server_id is null); ordinals count within the domain."""

    __tablename__ = "switch"
    __table_args__ = (ordinal(), Index(None, "server_id"), Index(None, "rack_id"))
    __mapper_args__ = {"polymorphic_identity": "switch"}  # noqa: RUF012 # as SQLAlchemy types it

    id: Mapped[int] = mapped_column(ForeignKey("node.id"), primary_key=True)
    server_id: Mapped[int | None] = mapped_column(ForeignKey("server.id"))
    rack_id: Mapped[int] = mapped_column(ForeignKey("rack.id"))
    ordinal: Mapped[int]


class Nic(Node):
    __tablename__ = "nic"
    __table_args__ = (ordinal(), positive("bandwidth_bytes_per_s"), UniqueConstraint("server_id", "ordinal"))
    __mapper_args__ = {"polymorphic_identity": "nic"}  # noqa: RUF012 # as SQLAlchemy types it

    id: Mapped[int] = mapped_column(ForeignKey("node.id"), primary_key=True)
    server_id: Mapped[int] = mapped_column(ForeignKey("server.id"))
    ordinal: Mapped[int]
    bandwidth_bytes_per_s: Mapped[Big]


class NetworkNode(Node):
    """A node of the EFA fabric; tier 1 is on top, ordinals count within the tier."""

    __tablename__ = "network_node"
    __table_args__ = (ordinal(), CheckConstraint("tier BETWEEN 1 AND 3", name="tier"), Index(None, "tier", "ordinal"))
    __mapper_args__ = {"polymorphic_identity": "network_node"}  # noqa: RUF012 # as SQLAlchemy types it

    id: Mapped[int] = mapped_column(ForeignKey("node.id"), primary_key=True)
    tier: Mapped[int]
    ordinal: Mapped[int]


class Core(Base):
    __tablename__ = "core"
    __table_args__ = (ordinal(), UniqueConstraint("chip_id", "ordinal"))

    id: Mapped[Key]
    chip_id: Mapped[int] = mapped_column(ForeignKey("chip.id"))
    ordinal: Mapped[int]


class Link(Base):
    """An edge between nodes a < b; the bandwidth is what one direction carries when healthy, over all its cables.

    A link of scope fabric goes from a NIC or network node to the network node above; between two network nodes it is
    of no domain.
    """

    __tablename__ = "link"
    __table_args__ = (
        CheckConstraint("a_id < b_id", name="order"),
        positive("bandwidth_bytes_per_s"),
        CheckConstraint("lanes > 0", name="lanes"),
        positive("cables"),
        one_of("scope", LINK_SCOPES),
        one_of("state", STATES),
        UniqueConstraint("a_id", "b_id"),
        Index(None, "b_id"),
        Index(None, "domain_id"),
        not_up("link"),
    )

    id: Mapped[Key]
    a_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    b_id: Mapped[int] = mapped_column(ForeignKey("node.id"))
    domain_id: Mapped[int | None] = mapped_column(ForeignKey("domain.id"))
    link_model_id: Mapped[int] = mapped_column(ForeignKey("link_model.id"))
    bandwidth_bytes_per_s: Mapped[Big]
    lanes: Mapped[int | None]
    cables: Mapped[int] = mapped_column(server_default="1")
    technology: Mapped[str]
    scope: Mapped[str] = mapped_column(String(8))
    state: Mapped[str] = mapped_column(String(12), server_default="up")
