"""Drift: where what was seen differs from the design, as rows of ``finding``; if asked, states by what was found."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from trninv.catalog.instance_types import UnclaimedType
from trninv.inventory.author import MAX_LENGTH
from trninv.inventory.bulk import load
from trninv.inventory.ids import next_id
from trninv.inventory.rules import RULES
from trninv.inventory.schema import TABLES
from trninv.inventory.stamp import Progress, quiet
from trninv.inventory.state import Change, Condition, set_state
from trninv.live.chips import Counted, chips
from trninv.live.design import domains
from trninv.live.findings import Finding, findings
from trninv.live.picture import STALE_AFTER, Picture, grown, picture
from trninv.live.rules import DOMAIN, FLEET, SERVER, Difference, count_not_compared
from trninv.timestamps import format_timestamp

_FINDING, _OBSERVATION = TABLES["finding"], TABLES["observation"]
_COMPARISON = TABLES["comparison"]
_MAX_TEXT: Final = 1_000

Found = tuple[str, Difference]
"""A rule's name, and what it found."""
_Key = tuple[str, str | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Drift:
    """What comparing found.

    Attributes
    ----------
    findings
        What differs now within the scope, the worst first.
    new, cleared
        How many findings were not there before, and how many no longer are, of all.
    applied
        States that were set.
    not_compared
        Of how many of all bound servers each rule had nothing to compare, since no source reports it.
    servers
        How many bound servers there are.
    unclaimed
        Types that no model in the catalog claims, of machines that were lately seen and stand in no slot.

    """

    findings: tuple[Finding, ...]
    new: int
    cleared: int
    applied: tuple[Change, ...]
    not_compared: Mapping[str, int]
    servers: int
    unclaimed: tuple[UnclaimedType, ...] = ()


def drift(
    connection: Connection,
    scope: str | None = None,
    *,
    now: datetime | None = None,
    stale_after: timedelta = STALE_AFTER,
    apply: bool = False,
    progress: Progress = quiet,
) -> Drift:
    """Compare all that was seen with the design, and record it, within the caller's transaction.

    Parameters
    ----------
    scope
        An address, at and below which findings are given and applied.
    apply
        Whether to set the states of what does not work by what was found.
    progress
        Told what is compared, how many are, and of how many.

    Raises
    ------
    AddressError, UnknownAddressError

    """
    at = (now or datetime.now(UTC)).astimezone(UTC)
    seen = picture(connection, at, stale_after)
    found = _by_key(compare(connection, seen, progress))
    ids, new, cleared = _record(connection, found, format_timestamp(at))
    within = findings(connection, scope)
    here = {each.id for each in within}
    broken = {number: each for key, each in found.items() if each.broken and (number := ids[key]) in here}
    applied = tuple(_apply(connection, broken, within)) if apply else ()
    servers = sum(slot.bound is not None for slot in seen.slots)
    not_compared = count_not_compared(seen.slots)
    return Drift(tuple(within), new, cleared, applied, not_compared, servers, seen.unclaimed())


def _by_key(found: Iterable[Found]) -> dict[_Key, Difference]:
    """Differences as they are told apart over time; what several sources say alike is one."""
    by_key: dict[_Key, Difference] = {}
    for rule, each in found:
        key = (rule, each.address, each.instance, _short(each.expected), _short(each.found))
        also = by_key[key].evidence if key in by_key else ()
        by_key[key] = each._replace(evidence=tuple(sorted({*also, *each.evidence})))
    return by_key


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _record(connection: Connection, found: Mapping[_Key, Difference], at: str) -> tuple[dict[_Key, int], int, int]:
    """Ids of all that was found; how many are new, and how many are over."""
    is_open = _FINDING.c.cleared_at.is_(None)
    key = [_FINDING.c[name] for name in ("rule", "address", "instance", "expected", "found")]
    before = {tuple(row[1:]): row.id for row in connection.execute(select(_FINDING.c.id, *key).where(is_open))}
    connection.execute(delete(_COMPARISON))
    connection.execute(insert(_COMPARISON).values(id=1, at=at))
    over = [{"key": key} for was, key in before.items() if was not in found]
    if over:
        connection.execute(update(_FINDING).where(_FINDING.c.id == bindparam("key")).values(cleared_at=at), over)
    connection.execute(update(_FINDING).where(is_open).values(last_seen=at))
    first = next_id(connection, _FINDING)
    new = {key: first + number for number, key in enumerate(key for key in found if key not in before)}
    load(connection, _FINDING, [_row(number, key, found[key], at) for key, number in new.items()])
    return {key: before.get(key) or new[key] for key in found}, len(new), len(over)


def _row(number: int, key: _Key, of: Difference, at: str) -> tuple[object, ...]:
    rule, address, instance, expected, found = key
    evidence = " ".join(map(str, of.evidence)) or None
    return (number, rule, RULES[rule].severity, address, instance, expected, found, evidence, at, at, None)


def _apply(connection: Connection, broken: Mapping[int, Difference], found: list[Finding]) -> Iterator[Change]:
    """Set what does not work, unless it is out of service already: who is the source, why the finding."""
    of = select(_OBSERVATION.c.id, _OBSERVATION.c.source)
    sources = {row.id: row.source for row in connection.execute(of)}
    for each in found:
        if each.id in broken:
            parts, state, evidence = broken[each.id].broken, broken[each.id].state, broken[each.id].evidence
            who = ", ".join(sorted({sources[number] for number in evidence}))
            why = f"finding {each.id}: {each.rule}: {each.found}"[:MAX_LENGTH]
            yield from set_state(
                connection, parts, Condition(state), why=why, who=who, only_carrying=True, source="drift"
            )


def compare(connection: Connection, seen: Picture, progress: Progress = quiet) -> list[Found]:
    """All that differs, by rule, in one state of the database."""
    counted: Counted = {}
    found = list(chips(connection, seen, counted))
    for done, slot in enumerate(seen.slots):
        progress("servers", done, len(seen.slots))
        found += ((rule, each) for rule, asked in SERVER.rules.items() for each in asked(slot, seen))
    for members in domains(seen.slots):
        found += ((rule, each) for rule, asked in DOMAIN.rules.items() for each in asked(members, seen))
    errors = list(grown(connection, counted))
    found += ((rule, each) for rule, asked in FLEET.rules.items() for each in asked(seen, errors))
    return found
