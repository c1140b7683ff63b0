"""Derive system totals from facts and compare derived values with those that documents print.

The commands ``trninv systems`` and ``trninv audit`` and the API show the results.
"""

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
        The picked fact about one part; None if no document states it, or the parts are of several models.
    value
        The sum over all parts in base units, for bandwidths in one direction; None if unknown.
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
    """The documented totals of a system with every part up; ``links`` are its scale-up links."""

    memory: DocumentedTotal
    memory_bandwidth: DocumentedTotal
    host_memory: DocumentedTotal
    bf16: DocumentedTotal
    nics: DocumentedTotal
    links: DocumentedTotal
    network_nodes: int

    @property
    def teraflops(self) -> float | None:
        """Dense BF16 operations per second of all chips, in 10¹²."""
        return None if self.bf16.value is None else self.bf16.value / 1000  # facts are in 10⁹

    @classmethod
    def from_system(cls, catalog: Catalog, system: System) -> "SystemTotals":
        """Compute the totals of a system."""
        blueprint, link_models = system.domain.blueprint, system.domain.links
        chip, server = system.domain.server.chip.slug, system.domain.server.slug
        nics = system.domains * sum(node.kind == "nic" for node in blueprint.nodes)
        link_counts = Counter(link_models[link.role].slug for link in blueprint.scale_up_links)
        bandwidths = {model: catalog.picked_value_or_none(model, "bandwidth") for model in link_counts}
        domain_bandwidth = (
            sum(link_counts[model] * bandwidth for model, bandwidth in bandwidths.items() if bandwidth)
            if all(bandwidths.values())
            else None
        )
        fabric = system.fabric(catalog)
        return cls(
            memory=_total(catalog, chip, "device_memory", system.chips),
            memory_bandwidth=_total(catalog, chip, "device_memory_bandwidth", system.chips),
            host_memory=_total(catalog, server, "host_memory", system.servers),
            bf16=_total(catalog, chip, "bf16_compute", system.chips),
            nics=_total(catalog, system.domain.nic_link.slug if system.domain.nic_link else "", "bandwidth", nics),
            links=DocumentedTotal(
                None,
                None if domain_bandwidth is None else system.domains * domain_bandwidth,
                system.domains * link_counts.total(),
            ),
            network_nodes=sum(fabric.sizes) if fabric else 0,
        )


def _total(catalog: Catalog, subject: str, attribute: str, parts: int) -> DocumentedTotal:
    """Return the total over ``parts`` equal parts, from the picked fact about one part."""
    fact = next(iter(catalog.facts_about(subject, attribute)), None)
    return DocumentedTotal(fact, None if fact is None or fact.value is None else fact.value * parts, parts)


@dataclass(frozen=True, slots=True)
class DerivationCheck:
    """A value that is derived from facts, compared with the value that a document prints.

    Attributes
    ----------
    verdict
        "exact", "rounds" (equal if rounded to the printed digits), "truncates" (equal if cut off at the printed
        digits), or "conflict".
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
        yield DerivationCheck(row["derived"], rendered, printed, _compare_with_print(derived, printed))


def _compare_with_print(derived: Fraction, printed: Fact) -> str:
    """Return the verdict of a `DerivationCheck`."""
    value, step = printed.value or 0, printed.rounding_step
    if derived == value:
        return "exact"
    if printed.is_rounded(derived):
        return "rounds"
    return "truncates" if step and math.floor(derived / step) * step == value else "conflict"
