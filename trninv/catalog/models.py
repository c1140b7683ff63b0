"""Hardware models: what a system is made of, by name. Their numbers are the catalog's facts about those names.

The seed scripts (seed/trn1.py and so on) declare systems in these words; `systems` collects them.
"""

import runpy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from trninv.catalog.facts import EFA_FABRIC, KINDS, Catalog, Source
from trninv.errors import LimitError, UnknownSystemError, nearest
from trninv.settings import bundle
from trninv.topology.blueprint import Blueprint
from trninv.topology.clos import Fabric

COMPUTE = ("mxfp8_compute", "fp8_compute", "bf16_compute", "fp32_compute", "sparse_compute", "int8_compute")
"""Attributes of a chip that count 10⁹ operations per second; a chip without the type has none."""


@dataclass(frozen=True, slots=True)
class ChipModel:
    slug: str
    name: str
    generation: str
    core_model: str


@dataclass(frozen=True, slots=True)
class ServerModel:
    """A server, with the chips of each compute tray in tray order (empty if no document says)."""

    slug: str
    chip: ChipModel
    trays: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LinkModel:
    """Wires of one kind: a fact ``bandwidth`` (one direction), lanes where documented.

    Attributes
    ----------
    scope
        What the link joins: chips of a "server", a "rack" or a "domain", or a chip and its NIC ("host").

    """

    slug: str
    technology: str
    scope: str


@dataclass(frozen=True, slots=True)
class DomainModel:
    """A scale-up domain: its blueprint, its servers, and the kind of wire for each role in the blueprint."""

    slug: str
    name: str
    server: ServerModel
    blueprint: Blueprint
    links: Mapping[str, LinkModel]
    domains_per_rack: int = 1


@dataclass(frozen=True, slots=True)
class System:
    """Something that can be seeded: a cluster of ``domains`` equal domains.

    Attributes
    ----------
    large
        Left out by a plain ``seed``; ``--all`` includes it.

    """

    slug: str
    name: str
    domain: DomainModel
    domains: int = 1
    aliases: tuple[str, ...] = ()
    large: bool = False

    @property
    def chips(self) -> int:
        return self.domains * self.domain.blueprint.chips

    @property
    def servers(self) -> int:
        return self.domains * self.domain.blueprint.servers

    def fabric(self, catalog: Catalog) -> Fabric | None:
        """The EFA fabric between its domains; None if there is only one."""
        if self.domains == 1:
            return None
        sizes = (catalog.value(self.domain.slug, f"{what}_per_network_node") for what in ("domains", "nodes"))
        return Fabric(self.domains, *sizes)

    def resized(self, domains: int) -> "System":
        """The same system with another number of domains."""
        return replace(self, domains=domains)

    def domains_for(self, chips: int) -> int:
        """How many domains hold that many chips.

        Raises
        ------
        LimitError
            No whole number of them does.

        """
        each = self.domain.blueprint.chips
        domains, rest = divmod(chips, each)
        if rest:
            near = " or ".join(f"{count * each:,}" for count in (domains, domains + 1) if count)
            raise LimitError(f"{chips:,} chips are no whole {self.domain.name}s of {each}: ask for {near}")
        return domains

    def subjects(self) -> tuple[str, ...]:
        """Subjects of the facts that the system rests on."""
        links = (link.slug for link in self.domain.links.values())
        fabric = [EFA_FABRIC] if self.domains > 1 else []
        names = (self.slug, self.domain.slug, self.domain.server.slug, self.domain.server.chip.slug, *links, *fabric)
        return tuple(dict.fromkeys(names))

    def sources(self, catalog: Catalog) -> tuple[Source, ...]:
        """Sources of the picked facts, without repeats."""
        picked = {fact.key: fact for fact in reversed(catalog.facts) if fact.subject in self.subjects()}
        return tuple(
            sorted(
                {fact.source for fact in picked.values()},
                key=lambda source: (KINDS.index(source.kind), source.slug),
            )
        )


@dataclass(frozen=True)
class Systems:
    """All systems, and each by its slug and aliases."""

    systems: tuple[System, ...]

    @cached_property
    def names(self) -> Mapping[str, System]:
        return {name: system for system in self.systems for name in (system.slug, *system.aliases)}

    def get(self, name: str) -> System:
        """The system of a slug or alias, in any case of letters."""
        if system := self.names.get(name.lower()):
            return system
        raise UnknownSystemError(f"no system {name!r}: {nearest(name.lower(), self.names)} (trninv systems lists them)")


@lru_cache(maxsize=1)
def systems() -> Systems:
    """Every system that the seed scripts declare, smallest generation first."""
    scripts = sorted((bundle() / "seed").glob("[!_]*.py"))
    return Systems(tuple(system for script in scripts for system in runpy.run_path(str(script))["SYSTEMS"]))
