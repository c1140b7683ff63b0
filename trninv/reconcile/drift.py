"""Detect drift and record it as findings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from trninv.catalog.instance_types import UnclaimedInstances
from trninv.database.bulk_load import bulk_insert
from trninv.database.finding_rules import FINDING_RULES
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.deadline import Progress, silent
from trninv.inventory.state.author import MAX_LENGTH
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import ConditionChange, set_state
from trninv.reconcile.chip_drift import CountedErrors, check_chips
from trninv.reconcile.drift_input import STALE_AFTER, DriftInput, counter_increases, load_drift_input
from trninv.reconcile.findings import Finding, list_findings
from trninv.reconcile.occupied_slots import slots_by_domain
from trninv.reconcile.rules import DOMAIN_RULES, FLEET_RULES, SERVER_RULES, FindingDraft, count_uncompared
from trninv.units import format_timestamp

_FINDING, _OBSERVATION = TABLES["finding"], TABLES["observation"]
_COMPARISON = TABLES["comparison"]
_MAX_TEXT: Final = 1_000

NamedDraft = tuple[str, FindingDraft]
"""A rule's name and its finding."""
_FindingKey = tuple[str, str | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class DriftResult:
    """The result of a comparison.

    Attributes
    ----------
    findings
        Open findings within the scope, most severe first.
    new_count, cleared_count
        Numbers of new and of cleared findings, regardless of the scope.
    applied_changes
        Changed states.
    uncompared_servers
        For each rule, the number of bound servers that it could not compare because no source reports the field.
    bound_servers
        Number of bound servers.
    unclaimed_types
        Instance types that no model in the catalog claims, of recently observed machines without a slot.

    """

    findings: tuple[Finding, ...]
    new_count: int
    cleared_count: int
    applied_changes: tuple[ConditionChange, ...]
    uncompared_servers: Mapping[str, int]
    bound_servers: int
    unclaimed_types: tuple[UnclaimedInstances, ...] = ()


def detect_drift(
    connection: Connection,
    scope: str | None = None,
    *,
    now: datetime | None = None,
    stale_after: timedelta = STALE_AFTER,
    apply: bool = False,
    progress: Progress = silent,
) -> DriftResult:
    """Compare all observations with the design and record the findings, within the caller's transaction.

    Parameters
    ----------
    scope
        Address at or below which findings are returned and applied.
    apply
        Whether to set the states of failed parts.
    progress
        Called with a label, the number compared and the total.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    time = (now or datetime.now(UTC)).astimezone(UTC)
    drift_input = load_drift_input(connection, time, stale_after)
    drafts_by_key = _merge_by_key(evaluate_rules(connection, drift_input, progress))
    ids, new, cleared = _record(connection, drafts_by_key, format_timestamp(time))
    scope_findings = list_findings(connection, scope)
    scope_ids = {entry.id for entry in scope_findings}
    failed_drafts = {
        number: entry
        for key, entry in drafts_by_key.items()
        if entry.failed_parts and (number := ids[key]) in scope_ids
    }
    applied = tuple(_apply_states(connection, failed_drafts, scope_findings)) if apply else ()
    servers = sum(slot.bound_name is not None for slot in drift_input.slots)
    not_compared = count_uncompared(drift_input.slots)
    return DriftResult(tuple(scope_findings), new, cleared, applied, not_compared, servers, drift_input.unclaimed())


def _merge_by_key(drafts: Iterable[NamedDraft]) -> dict[_FindingKey, FindingDraft]:
    """Merge drafts with the same identity over time: equal reports of several sources are one finding."""
    by_key: dict[_FindingKey, FindingDraft] = {}
    for rule, draft in drafts:
        key = (rule, draft.address, draft.instance, _truncate(draft.expected), _truncate(draft.observed))
        other_evidence = by_key[key].evidence if key in by_key else ()
        by_key[key] = draft._replace(evidence=tuple(sorted({*other_evidence, *draft.evidence})))
    return by_key


def _truncate(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _record(
    connection: Connection, drafts: Mapping[_FindingKey, FindingDraft], time: str
) -> tuple[dict[_FindingKey, int], int, int]:
    """Record findings; return the ids of all, the number of new ones and of cleared ones."""
    is_open = _FINDING.c.cleared_at.is_(None)
    key = [_FINDING.c[name] for name in ("rule", "address", "instance", "expected", "observed")]
    open_ids = {tuple(row[1:]): row.id for row in connection.execute(select(_FINDING.c.id, *key).where(is_open))}
    connection.execute(delete(_COMPARISON))
    connection.execute(insert(_COMPARISON).values(id=1, at=time))
    ended = [{"key": key} for open_key, key in open_ids.items() if open_key not in drafts]
    if ended:
        connection.execute(update(_FINDING).where(_FINDING.c.id == bindparam("key")).values(cleared_at=time), ended)
    connection.execute(update(_FINDING).where(is_open).values(last_seen=time))
    first = next_id(connection, _FINDING)
    new = {key: first + number for number, key in enumerate(key for key in drafts if key not in open_ids)}
    bulk_insert(connection, _FINDING, [_finding_row(number, key, drafts[key], time) for key, number in new.items()])
    return {key: open_ids.get(key) or new[key] for key in drafts}, len(new), len(ended)


def _finding_row(number: int, key: _FindingKey, draft: FindingDraft, time: str) -> tuple[object, ...]:
    rule, address, instance, expected, observed = key
    evidence = " ".join(map(str, draft.evidence)) or None
    return (
        number,
        rule,
        FINDING_RULES[rule].severity,
        address,
        instance,
        expected,
        observed,
        evidence,
        time,
        time,
        None,
    )


def _apply_states(
    connection: Connection, failed_drafts: Mapping[int, FindingDraft], open_findings: list[Finding]
) -> Iterator[ConditionChange]:
    """Set the states of failed parts that still carry traffic; the author is the source, the reason is the finding."""
    query = select(_OBSERVATION.c.id, _OBSERVATION.c.source)
    sources = {row.id: row.source for row in connection.execute(query)}
    for finding in open_findings:
        if finding.id in failed_drafts:
            parts, state, evidence = (
                failed_drafts[finding.id].failed_parts,
                failed_drafts[finding.id].state,
                failed_drafts[finding.id].evidence,
            )
            who = ", ".join(sorted({sources[number] for number in evidence}))
            why = f"finding {finding.id}: {finding.rule}: {finding.observed}"[:MAX_LENGTH]
            yield from set_state(
                connection, parts, Condition(state), why=why, who=who, only_carrying=True, source="drift"
            )


def evaluate_rules(connection: Connection, drift_input: DriftInput, progress: Progress = silent) -> list[NamedDraft]:
    """Apply all rules to one state of the database."""
    counted_errors: CountedErrors = {}
    drafts = list(check_chips(connection, drift_input, counted_errors))
    for done, slot in enumerate(drift_input.slots):
        progress("servers", done, len(drift_input.slots))
        drafts += ((rule, draft) for rule, check in SERVER_RULES.rules.items() for draft in check(slot, drift_input))
    for members in slots_by_domain(drift_input.slots):
        drafts += ((rule, draft) for rule, check in DOMAIN_RULES.rules.items() for draft in check(members, drift_input))
    increases = list(counter_increases(connection, counted_errors))
    drafts += ((rule, draft) for rule, check in FLEET_RULES.rules.items() for draft in check(drift_input, increases))
    return drafts
