"""Define the models of chips, servers, links, switches and domains, and the systems made of them.

A model is a kind of part, and its slug is the subject of its facts (`trninv.catalog.facts`). A domain is the largest
group of chips that NeuronLink connects; a system is a cluster that ``trninv seed`` can create.

The catalog's TOML files declare them in tables [[chip]], [[server]], [[link]], [[switch]], [[domain]] and [[system]],
next to the facts of their generation; `parse_systems` builds them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, TypeVar

from trninv.catalog.facts import EFA_FABRIC, SOURCE_KINDS, Catalog, Source
from trninv.catalog.toml_files import TomlFiles, catalog_directory, read_toml_files
from trninv.errors import CatalogError, InvalidArgumentError, UnknownSystemError, suggestion
from trninv.topology import blueprint as blueprints
from trninv.topology import registry
from trninv.topology.blueprint import NIC, Blueprint, BlueprintNode
from trninv.topology.clos import ClosFabric
from trninv.topology.pattern import bind_arguments

_MAX_DOMAINS: Final = 1_000_000
_SERVER_SET = re.compile(r"any \d+|\d+( +\d+)*", re.ASCII)
COMPUTE = ("mxfp8_compute", "fp8_compute", "bf16_compute", "fp32_compute", "sparse_compute", "int8_compute")
"""Attributes of a chip in 10⁹ operations per second; a chip that lacks the number format has no such fact."""


@dataclass(frozen=True, slots=True)
class ChipModel:
    """A chip model; its numbers are the facts about its slug."""

    slug: str
    name: str
    generation: str
    core_model: str


@dataclass(frozen=True, slots=True)
class ServerModel:
    """A server model.

    Attributes
    ----------
    trays
        The chips of each compute tray, in tray order; empty if undocumented.
    chip_sets
        Sets of chips that a scheduler allocates together, besides single chips and all chips; the fact ``chip_sets``
        cites the document.
    ec2_types
        EC2 instance types. A type with ``*``, ``?`` or ``[…]`` is a pattern, and an assumption. The fact ``ec2_types``
        cites the document.
    chip_addresses, efa_addresses, numa_nodes
        For each chip, its PCI address, the PCI address of its EFA device, and its NUMA node; empty if undocumented.
    """

    slug: str
    chip: ChipModel
    trays: tuple[tuple[int, ...], ...] = ()
    chip_sets: tuple[tuple[int, ...], ...] = ()
    ec2_types: tuple[str, ...] = ()
    chip_addresses: tuple[str, ...] = ()
    efa_addresses: tuple[str, ...] = ()
    numa_nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkModel:
    """A link model, with the fact ``bandwidth`` (one direction), and lanes where documented.

    Attributes
    ----------
    scope
        How far the link reaches: within a "server", a "rack" or a "domain", or from a chip to its NIC ("host").
    """

    slug: str
    technology: str
    scope: str


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """A switch model, by the vendor's name; its numbers are the facts about its slug."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class DomainModel:
    """A scale-up domain: its blueprint, its servers, and the link model for each role in the blueprint.

    Attributes
    ----------
    switch
        The model of its switches; None if it has none, or no document names it.
    server_sets
        Sets of servers that can be allocated together, besides single servers and all servers: ordinals such as "0 1",
        or "any 3" for any three of a rack. The fact ``server_sets`` cites the document.
    own_ec2_types
        EC2 instance types of its servers, if they differ from those of the server model.
    """

    slug: str
    name: str
    server: ServerModel
    blueprint: Blueprint
    links: Mapping[str, LinkModel]
    domains_per_rack: int = 1
    switch: SwitchModel | None = None
    server_sets: tuple[str, ...] = ()
    own_ec2_types: tuple[str, ...] = ()

    @property
    def ec2_types(self) -> tuple[str, ...]:
        """EC2 instance types of its servers, or patterns of them."""
        return self.own_ec2_types or self.server.ec2_types

    @property
    def chips_per_server(self) -> int:
        """The number of chips in each server."""
        return self.blueprint.chips // self.blueprint.servers

    @property
    def nic_link(self) -> LinkModel | None:
        """The link model of its EFA devices; None if it has none."""
        return self.links.get(NIC)


@dataclass(frozen=True, slots=True)
class System:
    """A system that can be seeded: a cluster of ``domains`` equal domains.

    Attributes
    ----------
    is_opt_in
        Skipped by a plain ``seed``; ``--all`` includes it.
    is_by_name
        Seeded only by name, since no seed document describes it.
    """

    slug: str
    name: str
    domain: DomainModel
    domains: int = 1
    aliases: tuple[str, ...] = ()
    is_opt_in: bool = False
    is_by_name: bool = False

    @property
    def chips(self) -> int:
        """The number of chips."""
        return self.domains * self.domain.blueprint.chips

    @property
    def servers(self) -> int:
        """The number of servers."""
        return self.domains * self.domain.blueprint.servers

    def fabric(self, catalog: Catalog) -> ClosFabric | None:
        """Return the documented EFA fabric between the domains, or None for a single domain."""
        if self.domains == 1:
            return None
        sizes = (catalog.picked_value(self.domain.slug, f"{unit}_per_network_node") for unit in ("domains", "nodes"))
        return ClosFabric(self.domains, *sizes)

    def resized(self, domains: int) -> "System":
        """Return the same system with another number of domains.

        Raises
        ------
        InvalidArgumentError
            There are more than a million domains, or several that no fabric can connect.
        """
        if domains > _MAX_DOMAINS:
            raise InvalidArgumentError(f"{domains:,} domains: give at most {_MAX_DOMAINS:,}")
        if domains > 1 and self.domain.nic_link is None:
            raise InvalidArgumentError(
                f"{self.slug} has no EFA devices to connect {domains:,} domains: seed one at a time, with --name"
            )
        return replace(self, domains=domains)

    def domains_for(self, chips: int) -> int:
        """Return how many domains have ``chips`` chips in total.

        Raises
        ------
        InvalidArgumentError
            ``chips`` is not a multiple of the chips of a domain.
        """
        chips_per_domain = self.domain.blueprint.chips
        domains, remainder = divmod(chips, chips_per_domain)
        if remainder:
            alternatives = " or ".join(f"{count * chips_per_domain:,}" for count in (domains, domains + 1) if count)
            raise InvalidArgumentError(
                f"{chips:,} chips are not a whole number of {self.domain.name}s "
                f"({chips_per_domain} chips each): give {alternatives}"
            )
        return domains

    def fact_subjects(self) -> tuple[str, ...]:
        """Return the subjects of all facts about the system: its slug and those of its models."""
        links = (link.slug for link in self.domain.links.values())
        fabric = [EFA_FABRIC] if self.domains > 1 else []
        switch = [self.domain.switch.slug] if self.domain.switch else []
        own_subjects = (self.slug, self.domain.slug, self.domain.server.slug, self.domain.server.chip.slug)
        return tuple(dict.fromkeys((*own_subjects, *links, *switch, *fabric)))

    def sources(self, catalog: Catalog) -> tuple[Source, ...]:
        """Return the sources of the picked facts, without repeats."""
        # the picked fact of a key is the first in the catalog, so in reverse it is the last, which dict keeps
        picked = {fact.key: fact for fact in reversed(catalog.facts) if fact.subject in self.fact_subjects()}
        return tuple(
            sorted(
                {fact.source for fact in picked.values()},
                key=lambda source: (SOURCE_KINDS.index(source.kind), source.slug),
            )
        )


@dataclass(frozen=True)
class SystemCatalog:
    """All systems, in the order of their files, and by slug and alias.

    Attributes
    ----------
    declared
        The systems that each TOML file declares, by the file's name without suffix.
    """

    declared: Mapping[str, tuple[System, ...]]

    @cached_property
    def systems(self) -> tuple[System, ...]:
        """All systems."""
        return tuple(system for listed in self.declared.values() for system in listed)

    @cached_property
    def domains(self) -> Mapping[str, DomainModel]:
        """The domain models of all systems, by slug."""
        return {system.domain.slug: system.domain for system in self.systems}

    @cached_property
    def by_name(self) -> Mapping[str, System]:
        """The systems by slug and by alias."""
        return {name: system for system in self.systems for name in (system.slug, *system.aliases)}

    def get(self, name: str) -> System:
        """Return the system with a slug or alias, ignoring case.

        Raises
        ------
        UnknownSystemError
            There is no such system.
        """
        if system := self.by_name.get(name.lower()):
            return system
        raise UnknownSystemError(
            f"no system {name!r}: {suggestion(name.lower(), self.by_name)} (trninv systems lists them)"
        )


@lru_cache(maxsize=1)
def default_systems() -> SystemCatalog:
    """Return every system of the shipped catalog, in the order of its files."""
    return parse_systems(read_toml_files(catalog_directory()))


def parse_systems(files: TomlFiles) -> SystemCatalog:
    """Build the systems that a catalog's files declare; models may refer to each other across files.

    Raises
    ------
    CatalogError
        A file has an error, such as an unknown key; the message names file and model.
    """
    return _ModelLoader(files).systems()


_TABLES: Final = ("chip", "server", "link", "switch", "domain", "system")
_OTHER_TABLES: Final = ("table", "facts", "derived", "audit", "reconciliation")
_KEYED_FILES: Final = ("attributes", "sources")
"""Files with one table per attribute or source, named after it, such as [device_memory]."""
_SCOPES: Final[Mapping[str, Callable[[BlueprintNode, BlueprintNode], bool]]] = {
    "server": lambda a, b: a.server == b.server,
    "rack": lambda a, b: a.rack == b.rack,
    "domain": lambda _a, _b: True,
    "host": lambda _a, b: b.kind == "nic",
}
"""For each link scope, a test of whether such a link may connect two nodes."""

M = TypeVar("M", ChipModel, ServerModel, LinkModel, SwitchModel, DomainModel, System)


class _ModelLoader:
    """Builds models from the content of the catalog's TOML files.

    The parameters of `_link`, `_server`, `_domain` and `_system` are the keys of a table of that kind.
    """

    def __init__(self, files: TomlFiles) -> None:
        self.files = {file: content for file, content in files.items() if file not in _KEYED_FILES}
        for file, content in self.files.items():
            if unknown := sorted(content.keys() - {*_TABLES, *_OTHER_TABLES}):
                raise CatalogError(f"{file}.toml: unknown table {unknown[0]!r}: {suggestion(unknown[0], _TABLES)}")
        self.chips = _by_slug(self._build_models("chip", ChipModel))
        self.links = _by_slug(self._build_models("link", self._link))
        self.switches = _by_slug(self._build_models("switch", SwitchModel))
        self.servers = _by_slug(self._build_models("server", self._server))
        self.domains = _by_slug(self._build_models("domain", self._domain))

    def systems(self) -> SystemCatalog:
        systems_by_file: dict[str, list[System]] = {}
        names: dict[str, str] = {}
        for file, system in self._build_models("system", self._system):
            systems_by_file.setdefault(file, []).append(system)
            for name in (system.slug, *system.aliases):
                if name in names or name != name.lower():
                    problem = f"is already a name of {names[name]}" if name in names else "is not in lower case"
                    raise CatalogError(f"{file}.toml: system {system.slug!r}: {name!r} {problem}")
                names[name] = system.slug
        return SystemCatalog({file: tuple(listed) for file, listed in systems_by_file.items()})

    def _build_models(self, kind: str, make: Callable[..., M]) -> Iterator[tuple[str, M]]:
        """Yield each file name and model that the tables of a kind declare."""
        for file, content in self.files.items():
            rows = content.get(kind, [])
            if not isinstance(rows, list):
                raise CatalogError(f"{file}.toml: write [[{kind}]], in double brackets")
            for row in rows:
                minimum = 0 if kind == "server" else 1  # servers have lists of chip ordinals, which start at 0
                with _locate_error(f"{file}.toml: {kind} {row.get('slug', '')!r}"):
                    yield file, make(**bind_arguments(make, row, minimum=minimum))

    def _link(self, slug: str, technology: str, scope: str) -> LinkModel:
        if scope not in _SCOPES:
            raise CatalogError(f"no scope {scope!r}: {suggestion(scope, _SCOPES)}")
        return LinkModel(slug, technology, scope)

    def _server(
        self,
        slug: str,
        chip: str,
        trays: tuple[tuple[int, ...], ...] = (),
        chip_sets: tuple[tuple[int, ...], ...] = (),
        ec2_types: tuple[str, ...] = (),
        chip_addresses: tuple[str, ...] = (),
        efa_addresses: tuple[str, ...] = (),
        numa_nodes: tuple[int, ...] = (),
    ) -> ServerModel:
        chip_model = _lookup(self.chips, "chip", chip)
        return ServerModel(slug, chip_model, trays, chip_sets, ec2_types, chip_addresses, efa_addresses, numa_nodes)

    def _domain(
        self,
        slug: str,
        name: str,
        server: str,
        wiring: Mapping[str, object],
        links: Mapping[str, str],
        domains_per_rack: int = 1,
        switch: str = "",
        server_sets: tuple[str, ...] = (),
        ec2_types: tuple[str, ...] = (),
        without_nics: bool = False,
    ) -> DomainModel:
        parameters = dict(wiring)
        pattern = registry.get_pattern(str(parameters.pop("pattern", "")))
        with _locate_error(f"wiring {pattern.name!r}"):
            whole_blueprint = pattern.blueprint(parameters)
        blueprint = blueprints.without_nics(whole_blueprint) if without_nics else whole_blueprint
        link_models = {role: _lookup(self.links, "link", link) for role, link in links.items()}
        _check_roles(blueprint, link_models)
        server_model = _lookup(self.servers, "server", server)
        _check_server(server_model, blueprint.chips // blueprint.servers)
        switch_model = _lookup(self.switches, "switch", switch) if switch else None
        if switch_model and not any(node.kind == "switch" for node in blueprint.nodes):
            raise CatalogError(f"its wiring has no switches; remove switch = {switch!r}")
        model = DomainModel(
            slug, name, server_model, blueprint, link_models, domains_per_rack, switch_model, server_sets, ec2_types
        )
        legal_sets(model)  # refuses sets that are wrong
        return model

    def _system(
        self,
        slug: str,
        name: str,
        domain: str,
        domains: int = 1,
        aliases: tuple[str, ...] = (),
        large: bool = False,
        by_name: bool = False,
    ) -> System:
        return System(slug, name, _lookup(self.domains, "domain", domain), domains, aliases, large, by_name)


@contextmanager
def _locate_error(where: str) -> Iterator[None]:
    """Prefix a CatalogError with the entry in which it occurs."""
    try:
        yield
    except CatalogError as error:
        raise type(error)(f"{where}: {error}") from None


@dataclass(frozen=True, slots=True)
class LegalSet:
    """Chips of a server, or servers of a domain, that can be allocated to a job together.

    Attributes
    ----------
    unit
        "chip" or "server".
    ordinal
        The ordinal among the sets of the same size.
    mask
        Bit i is set if the unit with ordinal i belongs to the set; None for any ``size`` units of a rack.
    """

    unit: str
    size: int
    ordinal: int
    mask: int | None


def legal_sets(domain: DomainModel) -> tuple[LegalSet, ...]:
    """Return the legal sets of a domain, including every single chip and server, and all chips or servers together.

    Raises
    ------
    CatalogError
        A set names chips or servers that do not exist, or overlaps another set of the same size.
    """
    servers = domain.blueprint.servers
    chips = domain.blueprint.chips // servers
    if invalid := next((text for text in domain.server_sets if not _SERVER_SET.fullmatch(text)), None):
        raise CatalogError(f'server_sets: {invalid!r} is neither server ordinals nor "any" and a number')
    ordinal_sets = [tuple(map(int, text.split())) for text in domain.server_sets if not text.startswith("any")]
    sizes_of_any = sorted(int(text.removeprefix("any ")) for text in domain.server_sets if text.startswith("any"))
    return (
        *_numbered_sets("chip", chips, domain.server.chip_sets),
        *(_numbered_sets("server", servers, ordinal_sets) if servers > 1 else ()),
        *(LegalSet("server", size, 0, None) for size in sizes_of_any),
    )


def _numbered_sets(unit: str, unit_count: int, documented: Iterable[tuple[int, ...]]) -> Iterator[LegalSet]:
    """Yield sets of one unit, the documented sets, and the set of all units; number those of the same size from 0."""
    masks_by_size: dict[int, list[int]] = {}
    single_sets = [(member,) for member in range(unit_count)]
    whole_set = [tuple(range(unit_count))] if unit_count > 1 else []
    for members in (*single_sets, *documented, *whole_set):
        mask, masks = sum(1 << member for member in set(members)), masks_by_size.setdefault(len(members), [])
        if max(members) >= unit_count or mask.bit_count() < len(members) or any(mask & other for other in masks):
            raise CatalogError(
                f"{unit}_sets: {list(members)} overlaps a set of the same size, or has a repeated or unknown {unit}; "
                f"the {unit}s are 0 to {unit_count - 1}"
            )
        yield LegalSet(unit, len(members), len(masks), mask)
        masks.append(mask)


def _by_slug(models: Iterable[tuple[str, M]]) -> dict[str, M]:
    """Return models by slug, from pairs of file name and model; refuse a slug that is declared twice."""
    models_by_slug: dict[str, M] = {}
    for file, model in models:
        if model.slug in models_by_slug:
            raise CatalogError(f"{file}.toml: {model.slug!r} is declared twice")
        models_by_slug[model.slug] = model
    return models_by_slug


def _lookup(models: Mapping[str, M], kind: str, slug: str) -> M:
    """Return the model with a slug, or refuse a slug that no model has."""
    if slug in models:
        return models[slug]
    raise CatalogError(f"no {kind} {slug!r}: {suggestion(slug, models)}")


def _check_server(server: ServerModel, chips: int) -> None:
    """Refuse a server whose trays do not have each chip once, or whose lists do not have one entry per chip."""
    if server.trays and sorted(chip for tray in server.trays for chip in tray) != list(range(chips)):
        raise CatalogError(f"the trays of server {server.slug!r} do not have each of its chips exactly once")
    for name in ("chip_addresses", "efa_addresses", "numa_nodes"):
        if len(getattr(server, name)) not in (0, chips):
            raise CatalogError(f"server {server.slug!r}: {name} has {len(getattr(server, name))} entries, not {chips}")


def _check_roles(blueprint: Blueprint, link_models: Mapping[str, LinkModel]) -> None:
    """Refuse roles without a link model, link models without a role, and links that reach beyond their scope."""
    roles = {link.role for link in blueprint.links}
    if missing := sorted(roles - link_models.keys()):
        raise CatalogError(f"its wiring has links of role {missing[0]!r}; add a link model for this role to links")
    if unknown := sorted(link_models.keys() - roles):
        raise CatalogError(f"its wiring has no role {unknown[0]!r}: {suggestion(unknown[0], roles)}")
    for link in blueprint.links:
        model = link_models[link.role]
        if not _SCOPES[model.scope](blueprint.nodes[link.a], blueprint.nodes[link.b]):
            raise CatalogError(f"links of role {link.role!r} reach beyond the scope {model.scope!r} of {model.slug!r}")
