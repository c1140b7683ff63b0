"""What a part that is not up belongs to: a server for what is in it, an end for a link, else itself."""

from collections.abc import Iterable, Sequence

from trninv.incidents.model import IncidentRule, Key, Part


def causes(parts: Sequence[Part]) -> dict[Key, Part]:
    """The part that each belongs to, by key; a link with two ends that are not up belongs to its first."""
    servers = {part.id: part for part in parts if part.kind == "server"}
    found = {part.key: servers.get(part.spot.server or 0, part) for part in parts if part.kind != "link"}

    def end(part: Part) -> Part:
        return next((found["node", each] for each in part.ends if ("node", each) in found), part)

    return found | {part.key: end(part) for part in parts if part.kind == "link"}


def rule_of(changes: Iterable[int], roots: Sequence[Part], members: Sequence[Part]) -> IncidentRule:
    """Why parts are one: the widest rule that joins any of them.

    Parameters
    ----------
    changes
        Of its causes, and its first one.

    """
    if len(set(changes)) > 1:
        return IncidentRule.RACK
    if len(roots) > 1:
        return IncidentRule.CHANGE
    if len(members) == 1:
        return IncidentRule.SINGLE
    return IncidentRule.CONTAINMENT if roots[0].kind == "server" else IncidentRule.END
