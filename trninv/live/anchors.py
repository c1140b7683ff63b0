"""Which domain a group of machines fills."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from trninv.catalog.instance_types import UNCLAIMED
from trninv.inventory.hostnames import TEMPLATE, ServerAddress, called
from trninv.live.groups import ULTRASERVER, Group, Member, Slot, superseded

_MOST_CANDIDATES: Final = 8


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A machine that gets no slot.

    Attributes
    ----------
    candidates
        Slots that it may stand in, the first of ``count``.

    """

    name: str
    why: str
    candidates: tuple[str, ...] = ()
    count: int = 0

    @classmethod
    def of(cls, member: Member, why: str, candidates: Sequence[Slot] = ()) -> "Unplaced":
        """With the first of its candidates."""
        shown = tuple(slot.address for slot in candidates[:_MOST_CANDIDATES])
        return cls(member.name, why, shown, len(candidates))


class Anchor(NamedTuple):
    """The domain of a group, and how that is known."""

    domain: int
    how: str
    confidence: str
    words: str


_Look = tuple[frozenset[str], int, bool, int | None, bool]
"""What the domains that a group may fill depend on."""


class Anchors:
    """Finds the domains of groups.

    Parameters
    ----------
    slots
        Those that machines may stand in.
    held
        Ids of slots in which one stands already.
    is_all
        Whether there are no other slots, so that every machine should have one.

    Attributes
    ----------
    free
        Slots of each domain in which nothing stands.
    named
        Slots by the names that hosts have that are called after them.
    unplaced
        Machines of groups without a domain.

    """

    def __init__(self, slots: Sequence[Slot], held: set[int], template: str = TEMPLATE, *, is_all: bool = True) -> None:
        self.free, self.unplaced, self._is_all = defaultdict[int, list[Slot]](list), list[Unplaced](), is_all
        names = called([ServerAddress(slot.cluster, slot.domain_ordinal, slot.ordinal) for slot in slots], template)
        once = Counter(names)
        self.named = {name: slot for name, slot in zip(names, slots, strict=True) if once[name] == 1}
        self._sizes, above = dict[str, int](), defaultdict[tuple[str, int], set[int | None]](set)
        for slot in slots:
            self._sizes[slot.model] = slot.servers
            above[slot.model, slot.domain].add(slot.network_node)
            if slot.id not in held:
                self.free[slot.domain].append(slot)
        self._above = {domain: next(iter(nodes)) if len(nodes) == 1 else None for (_, domain), nodes in above.items()}
        self._open = defaultdict[str, dict[int | None, dict[int, None]]](lambda: defaultdict(dict))
        for kind, domain in above:
            self._open[kind][self._above[domain]][domain] = None
        self._taken, self._reserved, self._below = set[int](), Counter[int](), dict[str, int]()
        self._found = dict[int, tuple[Group, Anchor]]()

    def of(self, groups: Sequence[Group], *, in_order: bool) -> list[tuple[Group, Anchor]]:
        """The groups that have a domain, with it; the machines of the others are ``unplaced``."""
        for group in groups:
            if group.key:
                self._taken |= {member.slot.domain for member in group.standing if member.slot}
        left = [group for group in groups if group.unplaced and self._is_sound(group)]
        for group in left:
            self._by_standing(group)
        self._by_names(left := self._left(left))
        self._learn(groups)
        while self._only(left := self._left(left)):
            pass
        if in_order:
            self._in_order(left)
        self._give_up(self._left(left))
        return list(self._found.values())

    def _left(self, groups: Iterable[Group]) -> list[Group]:
        return [group for group in groups if group.unplaced and id(group) not in self._found]

    def _take(self, group: Group, anchor: Anchor) -> None:
        """Give a group a domain."""
        domain = anchor.domain
        self._found[id(group)] = group, anchor
        self._reserved[domain] += len(group.unplaced)
        if group.key:
            self._taken.add(domain)
        if len(self.free[domain]) <= self._reserved[domain]:
            for by_above in self._open.values():
                by_above[self._above[domain]].pop(domain, None)

    def _leave(self, group: Group, why: str, candidates: Sequence[Slot] = ()) -> None:
        """Give it none."""
        self.unplaced += [Unplaced.of(member, why, candidates) for member in group.unplaced]
        group.members = group.standing

    def _give_up(self, groups: Iterable[Group]) -> None:
        """Leave all these, with the slots that they may be in."""
        known = dict[_Look, list[Slot]]()
        for group in groups:
            look = self._look(group)
            if look not in known:
                known[look] = [slot for domain in self._candidates(group) for slot in self.free[domain]]
            self._leave(group, "nothing tells these apart" if known[look] else "no slot is left for it", known[look])

    def _is_sound(self, group: Group) -> bool:
        """Whether its machines can be in one domain, without those that others have replaced."""
        for member in superseded(group.members):
            group.members.remove(member)
            if member.slot:
                self.free[member.slot.domain] = sorted([*self.free[member.slot.domain], member.slot])
        most = max((self._sizes[kind] for kind in group.kinds), default=0)
        is_unclaimed = any(each.is_unclaimed for each in group.members)
        places = Counter(each.position for each in group.members if each.position is not None)
        why = ""
        if not most:
            why = UNCLAIMED if is_unclaimed else "no slot is for instances of its type"
        elif len(group.members) > most:
            why = f"{group.key} has {len(group.members)} instances, and its domain has {most} servers"
        elif twice := [place for place, count in places.items() if count > 1]:
            why = f"{group.key} has several instances at place {twice[0]}"
        if why and (most or self._is_all or is_unclaimed):
            self._leave(group, why)
        return not why

    def _by_standing(self, group: Group) -> None:
        standing = {member.slot.domain: (member, member.slot) for member in reversed(group.standing) if member.slot}
        if len(standing) > 1:
            domains = sorted(_domain(slot) for _, slot in standing.values())
            self._leave(group, f"instances of {group.key} stand in {' and '.join(domains)}")
        for domain, (member, slot) in standing.items():
            how = "ultraserver" if group.key.startswith(ULTRASERVER) else "capacity-block"
            self._take(group, Anchor(domain, how, "certain", f"{member.name} stands in {_domain(slot)}"))

    def _by_names(self, groups: Sequence[Group]) -> None:
        """Domains by host names, unless those of one group are in several, or those of several groups in one."""
        named = [(group, self._called(group)) for group in groups]
        wanted = Counter(domain for group, found in named for domain in found if group.key)
        for group, found in named:
            if len(found) > 1 or (group.key and any(wanted[domain] > 1 for domain in found)):
                self._leave(group, f"{group.key} and the names of hosts do not agree", [s for _, s in found.values()])
            for domain, (host, _) in found.items() if group.unplaced else ():
                self._take(group, Anchor(domain, "host-name", "likely", f"host {host}"))

    def _called(self, group: Group) -> dict[int, tuple[str, Slot]]:
        """Domains in which free slots are called as hosts of a group are."""
        found = dict[int, tuple[str, Slot]]()
        for member in group.unplaced:
            slot = slot_named(member, self.named)
            if slot is None or slot.model not in group.kinds or slot not in self.free[slot.domain]:
                continue
            if not (group.key and slot.domain in self._taken):
                found.setdefault(slot.domain, (member.machine.host or "", slot))
        return found

    def _learn(self, groups: Iterable[Group]) -> None:
        """Which network node of the design each is that was seen, as far as that is one and the same everywhere."""
        pairs = {
            (member.network_node, member.slot.network_node)
            for group in groups
            for member in group.standing
            if member.slot
        }
        pairs |= {(group.network_node, self._above[anchor.domain]) for group, anchor in self._found.values()}
        known = [(node, of) for node, of in pairs if node is not None and of is not None]
        seen, meant = Counter(node for node, _ in known), Counter(of for _, of in known)
        self._below = {node: of for node, of in known if seen[node] == meant[of] == 1}

    def _look(self, group: Group) -> _Look:
        node = group.network_node
        return group.kinds, len(group.unplaced), bool(group.key), self._below.get(node or ""), node is not None

    def _candidates(self, group: Group) -> Iterator[int]:
        """Domains that a group may fill: not below a network node that is another than its own."""
        look = kinds, _, _, below, is_below = self._look(group)
        others = set(self._below.values()) if is_below and below is None else set[int]()
        for kind in sorted(kinds):
            everywhere = (above for above in self._open[kind] if above not in others)
            for above in everywhere if below is None else (None, below):
                yield from self._fitting(look, kind, above)

    def _fitting(self, look: _Look, kind: str, above: int | None) -> Iterator[int]:
        """Of the domains of a model below a network node, those that have room."""
        _, size, is_keyed, _, _ = look
        return (
            domain
            for domain in self._open[kind].get(above, ())
            if len(self.free[domain]) - self._reserved[domain] >= size and not (is_keyed and domain in self._taken)
        )

    def _only(self, groups: Sequence[Group]) -> bool:
        """Take the domains of groups that may fill one alone, where no other may fill that one alone; if there are."""
        alike = defaultdict[_Look, list[Group]](list)
        for group in groups:
            alike[self._look(group)].append(group)
        domains = {look: list(self._candidates(same[0])) for look, same in alike.items()}
        single = Counter(found[0] for found in domains.values() if len(found) == 1)
        taken = [
            (alike[look][0], found[0])
            for look, found in domains.items()
            if len(found) == len(alike[look]) == 1 and single[found[0]] == 1
        ]
        for group, domain in taken:
            node = group.network_node
            if node is not None and node in self._below:
                self._take(group, Anchor(domain, "network-node", "likely", f"network node {node}"))
            else:
                self._take(group, Anchor(domain, "only-place", "certain", "no other domain"))
        return bool(taken)

    def _in_order(self, groups: Sequence[Group]) -> None:
        """Take domains in their order, those below one network node for groups below one."""
        waiting = Counter(group.network_node for group in groups)
        for group in sorted(groups, key=_order):
            node, domains = group.network_node, self._candidates(group)
            if node is not None and node not in self._below:
                domains = self._with_room(group, waiting[node])
            if (domain := next(domains, None)) is None:
                continue
            above = self._above[domain]
            if node is not None and above is not None:
                self._below[node] = above
            self._take(group, Anchor(domain, "in-order", "interchangeable", "in order"))

    def _with_room(self, group: Group, groups: int) -> Iterator[int]:
        """Domains that a group may fill, below network nodes that have enough of them for others too."""
        look, room = self._look(group), dict[int | None, int]()
        for domain in self._candidates(group):
            if (above := self._above[domain]) not in room:
                room[above] = sum(1 for kind in look[0] for _ in self._fitting(look, kind, above))
            if room[above] >= groups:
                yield domain


def slot_named(member: Member, named: Mapping[str, Slot]) -> Slot | None:
    """The slot that a host is called after, with its domain or without."""
    host = (member.machine.host or "").lower()
    return named.get(host) or named.get(host.partition(".")[0])


def _domain(slot: Slot) -> str:
    return slot.address.rpartition("/")[0]


def _order(group: Group) -> tuple[bool, str, str]:
    nodes = next((path for each in group.members if (path := each.machine.value("network_nodes"))), None)
    return nodes is None, nodes or "", min(each.name for each in group.members)
