"""Find the root cause of each unhealthy part and the rule that groups them."""

from collections.abc import Iterable, Sequence

from trninv.incidents.model import IncidentRule, PartKey, UnhealthyPart


def root_causes(parts: Sequence[UnhealthyPart]) -> dict[PartKey, UnhealthyPart]:
    """Map each part's key to its root cause; a link with two unhealthy ends belongs to its first end."""
    servers = {part.id: part for part in parts if part.kind == "server"}
    cause_by_part = {part.key: servers.get(part.location.server or 0, part) for part in parts if part.kind != "link"}

    def end_cause(part: UnhealthyPart) -> UnhealthyPart:
        return next(
            (cause_by_part["node", node_id] for node_id in part.ends if ("node", node_id) in cause_by_part), part
        )

    return cause_by_part | {part.key: end_cause(part) for part in parts if part.kind == "link"}


def grouping_rule(
    changes: Iterable[int], roots: Sequence[UnhealthyPart], members: Sequence[UnhealthyPart]
) -> IncidentRule:
    """Return the widest rule that joins any of the parts.

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
