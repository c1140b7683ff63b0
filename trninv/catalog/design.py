"""What a system adds up to by design: the fact of one part times how many of it there are, whether seeded or not."""

from collections import Counter
from dataclasses import dataclass

from trninv.catalog.facts import Catalog, Fact, render
from trninv.catalog.models import System


@dataclass(frozen=True, slots=True)
class Total:
    """Parts that a fact is about, each with its value.

    Attributes
    ----------
    fact
        The one that counts, of one part; None: no document gives one, or its parts are of several kinds.
    value
        Of all parts, in base units, one direction; None without a fact.
    parts
        How many there are.

    """

    fact: Fact | None
    value: int | None
    parts: int

    def __str__(self) -> str:
        if self.fact is None or self.value is None:
            return "not documented"
        return render(self.value, self.fact.attribute.dimension)


@dataclass(frozen=True, slots=True)
class Design:
    """Totals of a system as documents have it, with every part up."""

    memory: Total
    memory_bandwidth: Total
    host_memory: Total
    bf16: Total
    nics: Total
    wires: Total
    network_nodes: int

    @property
    def teraflops(self) -> float | None:
        """Dense BF16 operations per second of all chips, in 10¹²."""
        return None if self.bf16.value is None else self.bf16.value / 1000

    @classmethod
    def of(cls, catalog: Catalog, system: System) -> "Design":
        """Of a system of the catalog."""
        blueprint, links = system.domain.blueprint, system.domain.links
        chip, server = system.domain.server.chip.slug, system.domain.server.slug
        nics = system.domains * sum(node.kind == "nic" for node in blueprint.nodes)
        made_of = Counter(links[wire.role].slug for wire in blueprint.wires)
        carries = {link: catalog.find(link, "bandwidth") for link in made_of}
        fabric = system.fabric(catalog)
        return cls(
            memory=_total(catalog, chip, "device_memory", system.chips),
            memory_bandwidth=_total(catalog, chip, "device_memory_bandwidth", system.chips),
            host_memory=_total(catalog, server, "host_memory", system.servers),
            bf16=_total(catalog, chip, "bf16_compute", system.chips),
            nics=_total(catalog, system.domain.nic.slug if system.domain.nic else "", "bandwidth", nics),
            wires=Total(
                None,
                system.domains * sum(made_of[link] * carried for link, carried in carries.items() if carried)
                if all(carries.values())
                else None,
                system.domains * made_of.total(),
            ),
            network_nodes=sum(fabric.sizes) if fabric else 0,
        )


def _total(catalog: Catalog, subject: str, attribute: str, parts: int) -> Total:
    fact = next(iter(catalog.of(subject, attribute)), None)
    return Total(fact, None if fact is None or fact.value is None else fact.value * parts, parts)
