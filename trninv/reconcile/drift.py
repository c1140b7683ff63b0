"""Detect drift and record it as findings, for ``trninv drift``.

Drift is any disagreement between the design and what tools observed of the machines. Each rule yields a draft of a
finding for each disagreement. Drafts that are not recorded yet become findings, and findings without a draft are
cleared.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from trninv.catalog.instance_types import UnclaimedType
from trninv.database.bulk_load import bulk_insert
from trninv.database.finding_rules import FINDING_RULES, failed_parts
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
_IS_OPEN: Final = _FINDING.c.cleared_at.is_(None)
_MAX_TEXT: Final = 1_000
"""The maximum length of the expected and the observed text of a finding, in characters."""

NamedDraft = tuple[str, FindingDraft]
"""A rule's name and one of its drafts."""
_FindingKey = tuple[str, str | None, str | None, str | None, str | None]
"""Rule, address, instance, expected and observed text; drafts with equal keys are one finding, also over time."""


@dataclass(frozen=True, slots=True)
class UncomparedServers:
    """Bound servers that a rule could not compare: no source reports the value, or sources disagree on the type."""

    rule: Annotated[str, "The rule."]
    count: Annotated[int, "Number of servers."]


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
        The changes of states that were made, if requested.
    uncompared_servers
        For each rule that could not compare all bound servers, the number of those that it could not.
    bound_servers
        Number of servers that are bound to an instance.
    unclaimed_types
        Instance types that no model in the catalog claims, of recently observed machines without a slot.

    """

    findings: tuple[Finding, ...]
    new_count: int
    cleared_count: int
    applied_changes: tuple[ConditionChange, ...]
    uncompared_servers: tuple[UncomparedServers, ...]
    bound_servers: int
    unclaimed_types: tuple[UnclaimedType, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of all rules at a time: the drafts of findings, and what they were compared from."""

    time: str
    drafts: Mapping[_FindingKey, FindingDraft]
    drift_input: DriftInput


def compare(
    connection: Connection,
    now: datetime | None = None,
    stale_after: timedelta = STALE_AFTER,
    progress: Progress = silent,
) -> Comparison:
    """Compare all observations with the design, and write nothing; `detect_drift` describes the parameters."""
    time = (now or datetime.now(UTC)).astimezone(UTC)
    drift_input = load_drift_input(connection, time, stale_after)
    drafts = _merge_by_key(evaluate_rules(connection, drift_input, progress))
    return Comparison(format_timestamp(time), drafts, drift_input)


def detect_drift(
    connection: Connection,
    scope: str | None = None,
    *,
    now: datetime | None = None,
    stale_after: timedelta = STALE_AFTER,
    apply_as: str | None = None,
    progress: Progress = silent,
    comparison: Comparison | None = None,
) -> DriftResult:
    """Compare all observations with the design and record the findings, within the caller's transaction.

    Parameters
    ----------
    scope
        Address at or below which findings are returned and applied.
    now, stale_after
        Observations count as stale if they are older than ``stale_after`` at the time ``now``.
    apply_as
        The author of the state changes of parts that findings report as failed; None leaves their states unchanged.
    progress
        Called with a label, the number compared and the total.
    comparison
        A comparison that was made before the transaction began, perhaps of an older state. It suffices if it neither
        finds nor clears anything; otherwise all is compared again.

    Raises
    ------
    AddressError, UnknownAddressError
        The scope is not an address, or no place has it.

    """
    if comparison is None or apply_as is not None or not _changes_nothing(connection, comparison):
        comparison = compare(connection, now, stale_after, progress)
    drafts_by_key, drift_input = comparison.drafts, comparison.drift_input
    ids, new, cleared = _record(connection, drafts_by_key, comparison.time)
    scope_findings = list_findings(connection, scope)
    drafts = {ids[key]: draft for key, draft in drafts_by_key.items()}
    applied = tuple(_apply_states(connection, drafts, scope_findings, apply_as)) if apply_as is not None else ()
    servers = sum(slot.bound_name is not None for slot in drift_input.slots)
    not_compared = tuple(UncomparedServers(*entry) for entry in count_uncompared(drift_input).items())
    return DriftResult(tuple(scope_findings), new, cleared, applied, not_compared, servers, drift_input.unclaimed())


def _merge_by_key(drafts: Iterable[NamedDraft]) -> dict[_FindingKey, FindingDraft]:
    """Merge drafts with equal keys, so that equal reports of several sources are one finding with joint evidence."""
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
    """Record drafts as findings, and clear findings without a draft; return ids and the numbers of new and cleared."""
    open_ids = _open_finding_ids(connection)
    connection.execute(delete(_COMPARISON))
    connection.execute(insert(_COMPARISON).values(id=1, at=time))
    cleared = [{"finding_id": finding_id} for key, finding_id in open_ids.items() if key not in drafts]
    if cleared:
        clear = update(_FINDING).where(_FINDING.c.id == bindparam("finding_id")).values(cleared_at=time)
        connection.execute(clear, cleared)
    connection.execute(update(_FINDING).where(_IS_OPEN).values(last_seen=time))
    new_keys = (key for key in drafts if key not in open_ids)
    new_ids = {key: new_id for new_id, key in enumerate(new_keys, next_id(connection, _FINDING))}
    bulk_insert(connection, _FINDING, [_finding_row(new_id, key, drafts[key], time) for key, new_id in new_ids.items()])
    return {key: open_ids.get(key) or new_ids[key] for key in drafts}, len(new_ids), len(cleared)


def _open_finding_ids(connection: Connection) -> dict[_FindingKey, int]:
    key_columns = [_FINDING.c[name] for name in ("rule", "address", "instance", "expected", "observed")]
    rows = connection.execute(select(_FINDING.c.id, *key_columns).where(_IS_OPEN))
    return {
        (rule, address, instance, expected, observed): key for key, rule, address, instance, expected, observed in rows
    }


def _changes_nothing(connection: Connection, comparison: Comparison) -> bool:
    """Return whether the open findings are those of a comparison, and none was recorded after it."""
    last = connection.scalar(select(_COMPARISON.c.at))
    is_newest = last is None or last < comparison.time
    return is_newest and _open_finding_ids(connection).keys() == comparison.drafts.keys()


def _finding_row(finding_id: int, key: _FindingKey, draft: FindingDraft, time: str) -> tuple[object, ...]:
    """Return the row of a new finding, in the order of the table's columns."""
    rule, address, instance, expected, observed = key
    evidence = " ".join(map(str, draft.evidence)) or None
    severity, cleared_at = FINDING_RULES[rule].severity, None
    return (finding_id, rule, severity, address, instance, expected, observed, evidence, time, time, cleared_at)


def _apply_states(
    connection: Connection, drafts: Mapping[int, FindingDraft], open_findings: list[Finding], who: str
) -> Iterator[ConditionChange]:
    """Set the states of failed parts that are up or degraded; the reason is the finding with its sources."""
    query = select(_OBSERVATION.c.id, _OBSERVATION.c.source)
    sources = {row.id: row.source for row in connection.execute(query)}
    for finding in open_findings:
        parts = failed_parts(finding.rule, finding.address, finding.observed)
        if not parts:
            continue
        draft = drafts[finding.id]
        names = sorted({sources[observation] for observation in draft.evidence})
        by = "" if FINDING_RULES[finding.rule].names_source else f" by {', '.join(names)}"
        why = f"finding {finding.id}{by}: {finding.rule}: {finding.observed}"[:MAX_LENGTH]
        state = Condition(draft.state)
        yield from set_state(connection, parts, state, why=why, who=who, only_carrying=True, source="drift")


def evaluate_rules(connection: Connection, drift_input: DriftInput, progress: Progress = silent) -> list[NamedDraft]:
    """Apply all rules and return the drafts of their findings, without recording them."""
    counted_errors: CountedErrors = {}
    drafts = list(check_chips(connection, drift_input, counted_errors))  # also fills counted_errors
    for done, slot in enumerate(drift_input.slots):
        progress("servers", done, len(drift_input.slots))
        drafts += ((rule, draft) for rule, check in SERVER_RULES.rules.items() for draft in check(slot, drift_input))
    for members in slots_by_domain(drift_input.slots):
        drafts += ((rule, draft) for rule, check in DOMAIN_RULES.rules.items() for draft in check(members, drift_input))
    increases = list(counter_increases(connection, counted_errors))
    drafts += ((rule, draft) for rule, check in FLEET_RULES.rules.items() for draft in check(drift_input, increases))
    return drafts
