"""Derive system totals from facts and compare derived values with those that documents print."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from trninv.catalog.facts import Catalog, Fact, render_value
from trninv.catalog.models import System


@dataclass(frozen=True, slots=True)
class DocumentedTotal:
    """The sum of a documented number over equal parts.

    Attributes
    ----------
    fact
        The picked fact about one part; None if no document states it, or the parts are of several kinds.
    value
        The sum over all parts, in base units, one direction; None if unknown.
    parts
        The number of parts.
    """

    fact: Fact | None
    value: int | None
    parts: int

    def __str__(self) -> str:
        if self.fact is None or self.value is None:
            return "not documented"
        return render_value(self.value, self.fact.attribute.dimension)


@dataclass(frozen=True, slots=True)
class SystemTotals:
    """The documented totals of a system with every part up."""

    memory: DocumentedTotal
    memory_bandwidth: DocumentedTotal
    host_memory: DocumentedTotal
    bf16: DocumentedTotal
    nics: DocumentedTotal
    wires: DocumentedTotal
    network_nodes: int

    @property
    def teraflops(self) -> float | None:
        """Dense BF16 operations per second of all chips, in 10¹²."""
        return None if self.bf16.value is None else self.bf16.value / 1000

    @classmethod
    def from_system(cls, catalog: Catalog, system: System) -> "SystemTotals":
        """Sum up a system of the catalog."""
        blueprint, links = system.domain.blueprint, system.domain.links
        chip, server = system.domain.server.chip.slug, system.domain.server.slug
        nics = system.domains * sum(node.kind == "nic" for node in blueprint.nodes)
        links_by_model = Counter(links[wire.role].slug for wire in blueprint.scale_up_links)
        bandwidths = {link: catalog.picked_value_or_none(link, "bandwidth") for link in links_by_model}
        fabric = system.fabric(catalog)
        return cls(
            memory=_total(catalog, chip, "device_memory", system.chips),
            memory_bandwidth=_total(catalog, chip, "device_memory_bandwidth", system.chips),
            host_memory=_total(catalog, server, "host_memory", system.servers),
            bf16=_total(catalog, chip, "bf16_compute", system.chips),
            nics=_total(catalog, system.domain.nic_link.slug if system.domain.nic_link else "", "bandwidth", nics),
            wires=DocumentedTotal(
                None,
                system.domains * sum(links_by_model[link] * carried for link, carried in bandwidths.items() if carried)
                if all(bandwidths.values())
                else None,
                system.domains * links_by_model.total(),
            ),
            network_nodes=sum(fabric.sizes) if fabric else 0,
        )


def _total(catalog: Catalog, subject: str, attribute: str, parts: int) -> DocumentedTotal:
    fact = next(iter(catalog.facts_about(subject, attribute)), None)
    return DocumentedTotal(fact, None if fact is None or fact.value is None else fact.value * parts, parts)


@dataclass(frozen=True, slots=True)
class DerivationCheck:
    """A derivation compared with a printed fact.

    Attributes
    ----------
    verdict
        "exact", "rounds" (to the printed digits), "truncates" (cut at the printed digits), or "conflict".
    """

    formula: str
    derived: str
    printed: Fact
    verdict: str


def check_derivations(catalog: Catalog) -> Iterator[DerivationCheck]:
    """Yield the check of every derivation in audit.toml, in order."""
    for row in catalog.audits:
        printed = catalog.term(row["printed"])
        derived = catalog.evaluate(row["derived"])
        rendered = render_value(round(derived), printed.attribute.dimension)
        yield DerivationCheck(row["derived"], rendered, printed, _verdict(derived, printed))


def _verdict(derived: Fraction, printed: Fact) -> str:
    value, step = printed.value or 0, printed.rounding_step
    if derived == value or step is None:
        return "exact"
    if printed.is_rounded(derived):
        return "rounds"
    return "truncates" if math.floor(derived / step) * step == value else "conflict"
