"""Declare the graph that Cypher queries see: its labels, relationships and their properties.

The tables of the graph database, the reference page and the files for Neo4j are made from these declarations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a node or of a relationship.

    Attributes
    ----------
    type
        Its type in Cypher: STRING, INT64, DOUBLE or BOOL.

    """

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """A label and the properties of its nodes; the first property identifies a node."""

    name: str
    description: str
    properties: tuple[Property, ...]

    @property
    def key(self) -> str:
        """The name of the property that identifies a node."""
        return self.properties[0].name


@dataclass(frozen=True, slots=True)
class Relationship:
    """A type of relationship, the labels that it joins, and its properties."""

    name: str
    description: str
    pairs: tuple[tuple[str, str], ...]
    properties: tuple[Property, ...] = ()


_ADDRESS: Final = Property("address", "STRING", "Its address.")
_ORDINAL: Final = Property("ordinal", "INT64", "Its number in the place that contains it.")
_CLUSTER: Final = Property("cluster", "STRING", "Name of its cluster.")
_DOMAIN: Final = Property("domain", "STRING", "Address of its domain.")
_SERVER: Final = Property("server", "STRING", "Address of its server.")
_RACK: Final = Property("rack", "STRING", "Address of its rack.")
_CONDITION: Final = (
    Property("state", "STRING", "`up`, `degraded`, `down` or `maintenance`."),
    Property("factor", "DOUBLE", "Fraction that a degraded part still carries; null: all."),
)

LABELS: Final[Sequence[NodeLabel]] = (
    NodeLabel("Cluster", "A named fleet.", (_ADDRESS, Property("system", "STRING", "The system that it is."))),
    NodeLabel(
        "Rack", "A rack.", (_ADDRESS, _CLUSTER, _ORDINAL, Property("rack_units", "INT64", "Its height in rack units."))
    ),
    NodeLabel(
        "Domain",
        "A scale-up domain: a server or an UltraServer.",
        (
            _ADDRESS,
            _CLUSTER,
            _ORDINAL,
            Property("model", "STRING", "Its model."),
            Property("wiring", "STRING", "`chain`, `single`, `switched` or `torus`."),
        ),
    ),
    NodeLabel(
        "Server",
        "A server.",
        (
            _ADDRESS,
            _CLUSTER,
            _DOMAIN,
            _RACK,
            _ORDINAL,
            Property("model", "STRING", "Its instance type."),
            *_CONDITION,
            Property("cordoned", "BOOL", "Whether it takes no new jobs."),
        ),
    ),
    NodeLabel(
        "Chip",
        "A chip.",
        (
            _ADDRESS,
            _CLUSTER,
            _DOMAIN,
            _SERVER,
            _RACK,
            _ORDINAL,
            Property("tray", "INT64", "Number of its tray in its server; null: not documented."),
            Property("model", "STRING", "Its model, such as `trainium2`."),
            Property("cores", "INT64", "Its number of physical cores."),
            Property("hbm_gib", "INT64", "Its memory in GiB."),
            *_CONDITION,
        ),
    ),
    NodeLabel(
        "Switch",
        "A switch of a domain.",
        (_ADDRESS, _CLUSTER, _DOMAIN, _RACK, _ORDINAL, Property("model", "STRING", "Its model."), *_CONDITION),
    ),
    NodeLabel(
        "Nic",
        "An EFA device.",
        (
            _ADDRESS,
            _CLUSTER,
            _DOMAIN,
            _SERVER,
            _ORDINAL,
            Property("nominal_gb_per_s", "DOUBLE", "What one direction carries when healthy."),
            *_CONDITION,
        ),
    ),
    NodeLabel(
        "NetworkNode",
        "A network node of the EFA fabric.",
        (
            _ADDRESS,
            _CLUSTER,
            Property("tier", "INT64", "Its tier; 1 is on top."),
            _ORDINAL,
            Property("vendor_id", "STRING", "Its id in EC2, if it was observed."),
            *_CONDITION,
        ),
    ),
    NodeLabel(
        "Job",
        "A running job.",
        (
            Property("id", "INT64", "Its number in the table `job`."),
            Property("name", "STRING", "Its name."),
            Property("system", "STRING", "What runs it; `trninv` if it was allocated here."),
            Property("external_id", "STRING", "Its id in that system."),
            _CLUSTER,
            Property("started_at", "STRING", "When it got its first chips, UTC."),
            Property("priority", "INT64", "If its system reports one."),
            Property("pinned", "BOOL", "Whether plans leave it where it is."),
            Property("who", "STRING", "Who allocated it; events have who moved it."),
        ),
    ),
    NodeLabel(
        "Instance",
        "An instance or host that is bound to a server.",
        (
            Property("id", "INT64", "Number of its binding."),
            Property("instance", "STRING", "Its id in EC2; null if only the host name is known."),
            Property("host", "STRING", "Its host name; null if unknown."),
            Property("method", "STRING", "How it was bound."),
            Property("confidence", "STRING", "`certain`, `likely` or `interchangeable`."),
            Property("started_at", "STRING", "When it was bound, UTC."),
        ),
    ),
)

_LINK_PROPERTIES: Final = (
    Property("technology", "STRING", "NeuronLink-v2, EFA, …"),
    Property("scope", "STRING", "`server`, `rack`, `domain`, `host` or `fabric`."),
    Property("lanes", "INT64", "PCIe lanes of one cable, if documented."),
    Property("cables", "INT64", "Parallel cables."),
    Property("nominal_gb_per_s", "DOUBLE", "What one direction carries when healthy, over all its cables."),
    Property("bandwidth_gb_per_s", "DOUBLE", "What one direction carries now, given the link and its ends."),
    Property("state", "STRING", "Its own state, regardless of its ends."),
    _CONDITION[1],
)

SCALE_UP: Final = Relationship(
    "SCALE_UP",
    "A NeuronLink link; it has no direction, so write it without an arrow.",
    (("Chip", "Chip"), ("Chip", "Switch"), ("Switch", "Switch")),
    _LINK_PROPERTIES,
)
EFA: Final = Relationship(
    "EFA",
    "A link of the EFA fabric, upward: from a chip to its EFA device, and on to the network nodes above.",
    (("Chip", "Nic"), ("Nic", "NetworkNode"), ("NetworkNode", "NetworkNode")),
    _LINK_PROPERTIES,
)
LINK_RELATIONSHIPS: Final = (SCALE_UP, EFA)
PART_OF: Final = Relationship(
    "PART_OF",
    "From a part to a place that contains it.",
    (
        ("Rack", "Cluster"),
        ("Domain", "Cluster"),
        ("NetworkNode", "Cluster"),
        ("Server", "Domain"),
        ("Server", "Rack"),
        ("Switch", "Domain"),
        ("Switch", "Rack"),
        ("Chip", "Server"),
        ("Nic", "Server"),
    ),
)
ALLOCATED: Final = Relationship(
    "ALLOCATED",
    "From a job to a chip that it has.",
    (("Job", "Chip"),),
    (
        Property("role", "STRING", "`work`, or `spare`: kept to replace a failed chip."),
        Property("started_at", "STRING", "When the job got the chip, UTC."),
    ),
)
RUNS_ON: Final = Relationship("RUNS_ON", "From an instance to its server.", (("Instance", "Server"),))
RELATIONSHIPS: Final[Sequence[Relationship]] = (*LINK_RELATIONSHIPS, PART_OF, ALLOCATED, RUNS_ON)


def relationship_of(start: str, end: str) -> str:
    """Return the relationship of links between two labels."""
    return next(relationship.name for relationship in LINK_RELATIONSHIPS if (start, end) in relationship.pairs)


def create_statements() -> Iterator[str]:
    """Yield the statements that create the tables of the graph database."""
    for label in LABELS:
        yield f"CREATE NODE TABLE {label.name}({_columns(label.properties)}, PRIMARY KEY({label.key}))"
    for relationship in RELATIONSHIPS:
        pairs = ", ".join(f"FROM {start} TO {end}" for start, end in relationship.pairs)
        columns = f", {_columns(relationship.properties)}" if relationship.properties else ""
        yield f"CREATE REL TABLE {relationship.name}({pairs}{columns})"


def _columns(properties: Sequence[Property]) -> str:
    return ", ".join(f"{item.name} {item.type}" for item in properties)


def schema_digest() -> str:
    """Return a digest of the declarations; a projection of another digest is built anew."""
    return sha256("\n".join(create_statements()).encode()).hexdigest()[:8]
