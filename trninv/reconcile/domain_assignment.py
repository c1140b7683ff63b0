"""Assign groups of machines to domains."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from trninv.catalog.instance_types import UNCLAIMED_REASON
from trninv.inventory.address.hostnames import DEFAULT_TEMPLATE, ServerAddress, template_names
from trninv.reconcile.machine_groups import ULTRASERVER, GroupMember, MachineGroup, Slot, replaced_members

_MAX_CANDIDATES: Final = 8


@dataclass(frozen=True, slots=True)
class UnassignedMachine:
    """A machine without a slot, and why.

    Attributes
    ----------
    candidates
        The first of ``count`` possible slots.

    """

    name: str
    why: str
    candidates: tuple[str, ...] = ()
    count: int = 0

    @classmethod
    def from_member(cls, member: GroupMember, reason: str, candidates: Sequence[Slot] = ()) -> "UnassignedMachine":
        """Create it with the first possible slots."""
        addresses = tuple(slot.address for slot in candidates[:_MAX_CANDIDATES])
        return cls(member.name, reason, addresses, len(candidates))


class DomainAssignment(NamedTuple):
    """The domain of a group, and how that is known."""

    domain: int
    method: str
    confidence: str
    evidence: str


_CandidateKey = tuple[frozenset[str], int, bool, int | None, bool]
"""What decides the candidate domains of a group."""


class DomainAssigner:
    """Assign groups of machines to domains.

    Parameters
    ----------
    slots
        Slots that machines may be assigned to.
    occupied_ids
        Ids of slots that already have a machine.
    covers_all_slots
        Whether there are no other slots, so that every machine should get one.

    Attributes
    ----------
    free_slots
        Slots without a machine, by domain.
    slots_by_hostname
        Slots by the host name that the template gives them.
    unassigned
        Machines of groups without a domain.

    """

    def __init__(
        self,
        slots: Sequence[Slot],
        occupied_ids: set[int],
        template: str = DEFAULT_TEMPLATE,
        *,
        covers_all_slots: bool = True,
    ) -> None:
        self.free_slots, self.unassigned, self._covers_all_slots = (
            defaultdict[int, list[Slot]](list),
            list[UnassignedMachine](),
            covers_all_slots,
        )
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
        self._open_domains = defaultdict[str, dict[int | None, dict[int, None]]](lambda: defaultdict(dict))
        for model, domain in nodes_above:
            self._open_domains[model][self._node_above[domain]][domain] = None
        self._used_domains, self._reserved_counts, self._design_nodes = set[int](), Counter[int](), dict[str, int]()
        self._assignments = dict[int, tuple[MachineGroup, DomainAssignment]]()

    def assign(self, groups: Sequence[MachineGroup], *, in_order: bool) -> list[tuple[MachineGroup, DomainAssignment]]:
        """Return the groups that have a domain, with it; machines of the others are added to ``unassigned``."""
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
        self._leave_all(self._unassigned_groups(waiting))
        return list(self._assignments.values())

    def _unassigned_groups(self, groups: Iterable[MachineGroup]) -> list[MachineGroup]:
        return [group for group in groups if group.unbound and id(group) not in self._assignments]

    def _assign_domain(self, group: MachineGroup, assignment: DomainAssignment) -> None:
        """Assign a domain to a group."""
        domain = assignment.domain
        self._assignments[id(group)] = group, assignment
        self._reserved_counts[domain] += len(group.unbound)
        if group.key:
            self._used_domains.add(domain)
        if len(self.free_slots[domain]) <= self._reserved_counts[domain]:
            for domains_by_node in self._open_domains.values():
                domains_by_node[self._node_above[domain]].pop(domain, None)

    def _leave_unassigned(self, group: MachineGroup, reason: str, candidates: Sequence[Slot] = ()) -> None:
        """Leave a group without a domain."""
        self.unassigned += [UnassignedMachine.from_member(member, reason, candidates) for member in group.unbound]
        group.members = group.bound

    def _leave_all(self, groups: Iterable[MachineGroup]) -> None:
        """Leave groups without a domain, with their possible slots."""
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
        """Drop replaced machines, and return whether the rest fit in one domain."""
        for member in replaced_members(group.members):
            group.members.remove(member)
            if member.slot:
                self.free_slots[member.slot.domain] = sorted([*self.free_slots[member.slot.domain], member.slot])
        max_servers = max((self._sizes[model] for model in group.domain_models), default=0)
        is_unclaimed = any(group_member.is_unclaimed for group_member in group.members)
        positions = Counter(
            group_member.position for group_member in group.members if group_member.position is not None
        )
        reason = ""
        if not max_servers:
            reason = UNCLAIMED_REASON if is_unclaimed else "no slot has its instance type"
        elif len(group.members) > max_servers:
            reason = f"{group.key} has {len(group.members)} instances, but its domain has {max_servers} servers"
        elif duplicates := [position for position, count in positions.items() if count > 1]:
            reason = f"{group.key} has several instances at position {duplicates[0]}"
        if reason and (max_servers or self._covers_all_slots or is_unclaimed):
            self._leave_unassigned(group, reason)
        return not reason

    def _assign_by_bindings(self, group: MachineGroup) -> None:
        bound_members = {member.slot.domain: (member, member.slot) for member in reversed(group.bound) if member.slot}
        if len(bound_members) > 1:
            domains = sorted(_domain_address(slot) for _, slot in bound_members.values())
            self._leave_unassigned(group, f"instances of {group.key} are in {' and '.join(domains)}")
        for domain, (member, slot) in bound_members.items():
            method = "ultraserver" if group.key.startswith(ULTRASERVER) else "capacity-block"
            self._assign_domain(
                group, DomainAssignment(domain, method, "certain", f"{member.name} stands in {_domain_address(slot)}")
            )

    def _assign_by_hostnames(self, groups: Sequence[MachineGroup]) -> None:
        """Assign domains by host name, unless one group's names are in several domains or several groups' in one."""
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
        """Return the domains in which free slots have the host names of a group."""
        domains = dict[int, tuple[str, Slot]]()
        for member in group.unbound:
            slot = slot_for_host(member, self.slots_by_hostname)
            if slot is None or slot.model not in group.domain_models or slot not in self.free_slots[slot.domain]:
                continue
            if not (group.key and slot.domain in self._used_domains):
                domains.setdefault(slot.domain, (member.machine.host or "", slot))
        return domains

    def _learn_network_nodes(self, groups: Iterable[MachineGroup]) -> None:
        """Match observed network nodes with those of the design, if each matches exactly one."""
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
        observed_counts, design_counts = (
            Counter(node for node, _ in complete_pairs),
            Counter(design_node for _, design_node in complete_pairs),
        )
        self._design_nodes = {
            node: design_node
            for node, design_node in complete_pairs
            if observed_counts[node] == design_counts[design_node] == 1
        }

    def _candidate_key(self, group: MachineGroup) -> _CandidateKey:
        node = group.network_node
        return (
            group.domain_models,
            len(group.unbound),
            bool(group.key),
            self._design_nodes.get(node or ""),
            node is not None,
        )

    def _candidate_domains(self, group: MachineGroup) -> Iterator[int]:
        """Yield the domains that a group may fill, except below network nodes other than its own."""
        key = models, _, _, design_node, has_node = self._candidate_key(group)
        other_nodes = set(self._design_nodes.values()) if has_node and design_node is None else set[int]()
        for model in sorted(models):
            nodes = (node for node in self._open_domains[model] if node not in other_nodes)
            for node in nodes if design_node is None else (None, design_node):
                yield from self._fitting_domains(key, model, node)

    def _fitting_domains(self, key: _CandidateKey, model: str, node: int | None) -> Iterator[int]:
        """Yield the domains of a model below a network node that have enough free slots."""
        _, size, has_key, _, _ = key
        return (
            domain
            for domain in self._open_domains[model].get(node, ())
            if len(self.free_slots[domain]) - self._reserved_counts[domain] >= size
            and not (has_key and domain in self._used_domains)
        )

    def _assign_unambiguous(self, groups: Sequence[MachineGroup]) -> bool:
        """Assign groups with only one candidate domain that no other group has as its only one; return if any."""
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
        """Assign domains in order; groups below one network node get domains below one network node."""
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

    def _domains_with_room(self, group: MachineGroup, groups: int) -> Iterator[int]:
        """Yield the candidate domains below network nodes with enough domains for all such groups."""
        key, free_counts = self._candidate_key(group), dict[int | None, int]()
        for domain in self._candidate_domains(group):
            if (node := self._node_above[domain]) not in free_counts:
                free_counts[node] = sum(1 for model in key[0] for _ in self._fitting_domains(key, model, node))
            if free_counts[node] >= groups:
                yield domain


def slot_for_host(member: GroupMember, slots_by_hostname: Mapping[str, Slot]) -> Slot | None:
    """Return the slot that a host's name refers to, with or without its domain."""
    host = (member.machine.host or "").lower()
    return slots_by_hostname.get(host) or slots_by_hostname.get(host.partition(".")[0])


def _domain_address(slot: Slot) -> str:
    return slot.address.rpartition("/")[0]


def _sort_key(group: MachineGroup) -> tuple[bool, str, str]:
    nodes = next((path for member in group.members if (path := member.machine.value("network_nodes"))), None)
    return nodes is None, nodes or "", min(member.name for member in group.members)
