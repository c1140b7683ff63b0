"""Assign groups of machines to domains: the first step of `identification.match_machines`.

A domain is one server or one UltraServer, and a group is the machines that must share one. `slot_assignment` then
assigns the machines of a group to the slots (the places of servers) of its domain.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from trninv.catalog.instance_types import UNCLAIMED_REASON
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE, ServerAddress, template_names
from trninv.reconcile.machine_groups import (
    ULTRASERVER,
    GroupMember,
    MachineGroup,
    Slot,
    instance_type_of,
    replaced_members,
)

_MAX_CANDIDATES: Final = 8
"""The maximum number of possible slots that are named for a machine without a slot."""


@dataclass(frozen=True, slots=True)
class UnassignedMachine:
    """A machine without a slot, and why."""

    name: Annotated[str, "Id of the instance, or name of the host."]
    why: Annotated[str, "Why it has no slot."]
    candidates: Annotated[tuple[str, ...], "Addresses of the first possible slots."] = ()
    count: Annotated[int, "Number of possible slots."] = 0

    @classmethod
    def from_member(cls, member: GroupMember, reason: str, candidates: Sequence[Slot] = ()) -> "UnassignedMachine":
        """Return an entry for a machine of a group, with the slots that the machine could be in."""
        addresses = tuple(slot.address for slot in candidates[:_MAX_CANDIDATES])
        return cls(member.name, reason, addresses, len(candidates))


class DomainAssignment(NamedTuple):
    """The id of a group's domain, and the method, confidence and evidence of the assignment.

    The confidence is certain, likely or, if equally good domains or slots were filled in order, interchangeable.
    """

    domain: int
    method: str
    confidence: str
    evidence: str


class _CandidateKey(NamedTuple):
    """What the candidate domains of a group depend on: groups with equal keys have the same candidates.

    Attributes
    ----------
    size
        Number of slots that the group needs.
    needs_own_domain
        Whether the group fills a domain alone, as machines of one UltraServer or capacity block do.
    design_node
        Id of the design's network node that matches the network node observed above the group, if known.
    has_network_node
        Whether a single network node above the group was observed.

    """

    models: frozenset[str]
    size: int
    needs_own_domain: bool
    design_node: int | None
    has_network_node: bool


class DomainAssigner:
    """Assign groups of machines to domains.

    Parameters
    ----------
    slots
        Slots that machines may be assigned to.
    occupied_ids
        Ids of slots that already have a machine.
    template
        The template that derives a host name from each slot.
    covers_all_slots
        Whether ``slots`` are all slots of the inventory; if not, a machine may belong to a slot that is not among them.

    Attributes
    ----------
    free_slots
        Slots without a machine, by domain.
    slots_by_hostname
        Slots by the host name that the template derives; names that several slots share are omitted.
    unassigned
        Machines of groups without a domain.
    unlisted_count
        Number of machines of groups that may belong to slots that were not given.

    """

    def __init__(
        self,
        slots: Sequence[Slot],
        occupied_ids: set[int],
        template: str = DEFAULT_TEMPLATE,
        *,
        covers_all_slots: bool = True,
    ) -> None:
        self.free_slots, self.unassigned = defaultdict[int, list[Slot]](list), list[UnassignedMachine]()
        self._covers_all_slots, self.unlisted_count = covers_all_slots, 0
        names = template_names(
            [ServerAddress(slot.cluster, slot.domain_ordinal, slot.ordinal) for slot in slots], template
        )
        name_counts = Counter(names)
        self.slots_by_hostname = {name: slot for name, slot in zip(names, slots, strict=True) if name_counts[name] == 1}
        self._sizes, nodes_above = dict[str, int](), defaultdict[tuple[str, int], set[int | None]](set)
        for slot in slots:
            self._sizes[slot.model] = slot.servers
            nodes_above[slot.model, slot.domain].add(slot.network_node)
            if slot.id not in occupied_ids:
                self.free_slots[slot.domain].append(slot)
        self._node_above = {
            domain: next(iter(nodes)) if len(nodes) == 1 else None for (_, domain), nodes in nodes_above.items()
        }
        # domains except those that assigned groups have filled, by model and network node; each inner dict is an
        # ordered set of domain ids
        self._open_domains = defaultdict[str, dict[int | None, dict[int, None]]](lambda: defaultdict(dict))
        for model, domain in nodes_above:
            self._open_domains[model][self._node_above[domain]][domain] = None
        self._used_domains = set[int]()  # domains of groups that share their domain with no other group
        self._reserved_counts = Counter[int]()  # slots of each domain that assigned groups need
        self._design_nodes = dict[str, int]()  # network nodes of the design by observed name
        self._assignments = dict[int, tuple[MachineGroup, DomainAssignment]]()

    def assign(self, groups: Sequence[MachineGroup], *, in_order: bool) -> list[tuple[MachineGroup, DomainAssignment]]:
        """Assign domains to groups and return both; machines of groups without one are added to ``unassigned``."""
        for group in groups:
            if group.key:
                self._used_domains |= {member.slot.domain for member in group.bound if member.slot}
        waiting = [group for group in groups if group.unbound and self._check_group(group)]
        for group in waiting:
            self._assign_by_bindings(group)
        self._assign_by_hostnames(waiting := self._unassigned_groups(waiting))
        self._learn_network_nodes(groups)
        while self._assign_unambiguous(waiting := self._unassigned_groups(waiting)):
            pass
        if in_order:
            self._assign_in_order(waiting)
        self._leave_all_unassigned(self._unassigned_groups(waiting))
        return list(self._assignments.values())

    def _unassigned_groups(self, groups: Iterable[MachineGroup]) -> list[MachineGroup]:
        return [group for group in groups if group.unbound and id(group) not in self._assignments]

    def _assign_domain(self, group: MachineGroup, assignment: DomainAssignment) -> None:
        """Assign a domain to a group and reserve the slots that it needs; a full domain stops being a candidate."""
        domain = assignment.domain
        self._assignments[id(group)] = group, assignment
        self._reserved_counts[domain] += len(group.unbound)
        if group.key:
            self._used_domains.add(domain)
        if len(self.free_slots[domain]) <= self._reserved_counts[domain]:
            for domains_by_node in self._open_domains.values():
                domains_by_node[self._node_above[domain]].pop(domain, None)

    def _leave_unassigned(self, group: MachineGroup, reason: str, candidates: Sequence[Slot] = ()) -> None:
        """Add a group's unbound machines to ``unassigned`` and drop them from the group."""
        self.unassigned += [UnassignedMachine.from_member(member, reason, candidates) for member in group.unbound]
        group.members = group.bound

    def _leave_all_unassigned(self, groups: Iterable[MachineGroup]) -> None:
        """Leave groups unassigned, for a reason that says whether free slots fit them."""
        slots_by_key = dict[_CandidateKey, list[Slot]]()
        for group in groups:
            key = self._candidate_key(group)
            if key not in slots_by_key:
                slots_by_key[key] = [
                    slot for domain in self._candidate_domains(group) for slot in self.free_slots[domain]
                ]
            self._leave_unassigned(
                group, "several slots fit equally well" if slots_by_key[key] else "no free slot fits", slots_by_key[key]
            )

    def _check_group(self, group: MachineGroup) -> bool:
        """Drop replaced machines, and return whether the rest fit in one domain; if not, leave the group unassigned.

        If the given slots are not all slots and none of them is of the group's models, the group is not listed as
        unassigned either, because it may belong to other slots.
        """
        for member in replaced_members(group.members):
            group.members.remove(member)
            if member.slot:
                self.free_slots[member.slot.domain] = sorted([*self.free_slots[member.slot.domain], member.slot])
        max_servers = max((self._sizes[model] for model in group.domain_models), default=0)
        is_unclaimed = any(group_member.is_unclaimed for group_member in group.members)
        if not max_servers and all(instance_type_of(member.machine) is None for member in group.members):
            reason = "no source reports its instance type, and no free slot has its host name"
        elif not max_servers:
            reason = UNCLAIMED_REASON if is_unclaimed else "no slot has its instance type"
        elif len(group.members) > max_servers:
            reason = f"{group.key} has {len(group.members)} instances, but its domain has {max_servers} servers"
        else:
            reason = group.duplicate_reason
        if reason and (max_servers or self._covers_all_slots or is_unclaimed):
            self._leave_unassigned(group, reason)
        elif reason:
            self.unlisted_count += len(group.unbound)
        return not reason

    def _assign_by_bindings(self, group: MachineGroup) -> None:
        """Assign the domain of a group's bound machines; if they are in several, leave the group unassigned."""
        bound_members = {member.slot.domain: (member, member.slot) for member in reversed(group.bound) if member.slot}
        if len(bound_members) > 1:
            domains = sorted(slot.domain_address for _, slot in bound_members.values())
            self._leave_unassigned(group, f"instances of {group.key} are in {' and '.join(domains)}")
        # if there are several domains, no unbound machine is left in the group, so that nothing will be bound in them
        for domain, (member, slot) in bound_members.items():
            method = "ultraserver" if group.key.startswith(ULTRASERVER) else "capacity-block"
            self._assign_domain(
                group, DomainAssignment(domain, method, "certain", f"{member.name} is in {slot.domain_address}")
            )

    def _assign_by_hostnames(self, groups: Sequence[MachineGroup]) -> None:
        """Assign domains by host name.

        A group whose names point to several domains, or to a domain that another UltraServer or capacity block claims
        by its names, is left unassigned.
        """
        domains_by_group = [(group, self._domains_by_hostname(group)) for group in groups]
        claim_counts = Counter(domain for group, domains in domains_by_group for domain in domains if group.key)
        for group, domains in domains_by_group:
            if len(domains) > 1 or (group.key and any(claim_counts[domain] > 1 for domain in domains)):
                self._leave_unassigned(
                    group, f"{group.key} and the host names disagree", [slot for _, slot in domains.values()]
                )
            for domain, (host, _) in domains.items() if group.unbound else ():
                self._assign_domain(group, DomainAssignment(domain, "host-name", "likely", f"host {host}"))

    def _domains_by_hostname(self, group: MachineGroup) -> dict[int, tuple[str, Slot]]:
        """Return the domains whose free slots have a group's host names, with the first such name and slot."""
        domains = dict[int, tuple[str, Slot]]()
        for member in group.unbound:
            slot = slot_for_host(member, self.slots_by_hostname)
            if slot is None or slot.model not in group.domain_models or slot not in self.free_slots[slot.domain]:
                continue
            if not (group.key and slot.domain in self._used_domains):
                domains.setdefault(slot.domain, (member.machine.host or "", slot))
        return domains

    def _learn_network_nodes(self, groups: Iterable[MachineGroup]) -> None:
        """Match observed network nodes with those of the design, where each matches only the other."""
        pairs = {
            (member.network_node, member.slot.network_node) for group in groups for member in group.bound if member.slot
        }
        pairs |= {
            (group.network_node, self._node_above[assignment.domain])
            for group, assignment in self._assignments.values()
        }
        complete_pairs = [
            (node, design_node) for node, design_node in pairs if node is not None and design_node is not None
        ]
        observed_counts = Counter(node for node, _ in complete_pairs)
        design_counts = Counter(design_node for _, design_node in complete_pairs)
        self._design_nodes = {
            node: design_node
            for node, design_node in complete_pairs
            if observed_counts[node] == design_counts[design_node] == 1
        }

    def _candidate_key(self, group: MachineGroup) -> _CandidateKey:
        node = group.network_node
        design_node = self._design_nodes.get(node or "")
        return _CandidateKey(
            group.domain_models, len(group.unbound), bool(group.key), design_node, has_network_node=node is not None
        )

    def _candidate_domains(self, group: MachineGroup) -> Iterator[int]:
        """Yield the domains that a group fits in, except those that are known to be below a different network node."""
        key = self._candidate_key(group)
        is_node_unmatched = key.has_network_node and key.design_node is None
        other_nodes = set(self._design_nodes.values()) if is_node_unmatched else set[int]()
        for model in sorted(key.models):
            nodes = (node for node in self._open_domains[model] if node not in other_nodes)
            # None is the network node of domains for which it is unknown
            for node in nodes if key.design_node is None else (None, key.design_node):
                yield from self._fitting_domains(key, model, node)

    def _fitting_domains(self, key: _CandidateKey, model: str, node: int | None) -> Iterator[int]:
        """Yield the domains of a model below a network node that have enough free slots."""
        return (
            domain
            for domain in self._open_domains[model].get(node, ())
            if len(self.free_slots[domain]) - self._reserved_counts[domain] >= key.size
            and not (key.needs_own_domain and domain in self._used_domains)
        )

    def _assign_unambiguous(self, groups: Sequence[MachineGroup]) -> bool:
        """Assign groups whose only candidate domain is no other group's only one; return whether any was assigned."""
        groups_by_key = defaultdict[_CandidateKey, list[MachineGroup]](list)
        for group in groups:
            groups_by_key[self._candidate_key(group)].append(group)
        domains = {key: list(self._candidate_domains(key_groups[0])) for key, key_groups in groups_by_key.items()}
        sole_counts = Counter(candidates[0] for candidates in domains.values() if len(candidates) == 1)
        assignments = [
            (groups_by_key[key][0], candidates[0])
            for key, candidates in domains.items()
            if len(candidates) == len(groups_by_key[key]) == 1 and sole_counts[candidates[0]] == 1
        ]
        for group, domain in assignments:
            node = group.network_node
            if node is not None and node in self._design_nodes:
                self._assign_domain(group, DomainAssignment(domain, "network-node", "likely", f"network node {node}"))
            else:
                self._assign_domain(group, DomainAssignment(domain, "only-place", "certain", "no other domain"))
        return bool(assignments)

    def _assign_in_order(self, groups: Sequence[MachineGroup]) -> None:
        """Assign domains in order; groups below one observed network node get domains below one node of the design."""
        group_counts = Counter(group.network_node for group in groups)
        for group in sorted(groups, key=_sort_key):
            node, domains = group.network_node, self._candidate_domains(group)
            if node is not None and node not in self._design_nodes:
                domains = self._domains_with_room(group, group_counts[node])
            if (domain := next(domains, None)) is None:
                continue
            design_node = self._node_above[domain]
            if node is not None and design_node is not None:
                self._design_nodes[node] = design_node
            self._assign_domain(group, DomainAssignment(domain, "in-order", "interchangeable", "in order"))

    def _domains_with_room(self, group: MachineGroup, group_count: int) -> Iterator[int]:
        """Yield the group's candidate domains below network nodes that have at least ``group_count`` such domains."""
        key, free_counts = self._candidate_key(group), dict[int | None, int]()
        for domain in self._candidate_domains(group):
            if (node := self._node_above[domain]) not in free_counts:
                free_counts[node] = sum(1 for model in key.models for _ in self._fitting_domains(key, model, node))
            if free_counts[node] >= group_count:
                yield domain


def slot_for_host(member: GroupMember, slots_by_hostname: Mapping[str, Slot]) -> Slot | None:
    """Return the slot that a machine's host name refers to, with or without its DNS suffix."""
    host = (member.machine.host or "").lower()
    return slots_by_hostname.get(host) or slots_by_hostname.get(host.partition(".")[0])


def _sort_key(group: MachineGroup) -> tuple[bool, str, str]:
    """Return a key that sorts groups by network nodes, then by name; groups without known network nodes come last."""
    nodes = next((path for member in group.members if (path := member.machine.value("network_nodes"))), None)
    return nodes is None, nodes or "", min(member.name for member in group.members)
