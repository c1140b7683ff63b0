"""What is summed from an archive, against each part's own history gone through in plain Python."""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from conftest import seeds
from trninv.database.tables import STATES
from trninv.history.archive.availability import archive_sums, transition_query
from trninv.history.archive.engines import query_duckdb
from trninv.history.availability_sums import AvailabilitySums

START = datetime(2026, 1, 5, tzinfo=UTC)
SPAN = 86_400_000_000
"""Microseconds from the start to the end of the archive."""


@dataclass
class Part:
    kind: str
    key: int
    rack: str | None
    state: str
    own: str | None
    known_from: int
    since: int


@dataclass
class Event:
    id: int
    previous: int | None
    back: bool
    part: Part
    before: str
    state: str
    own_before: str | None
    own: str | None
    us: int


def _lived(chance: random.Random) -> tuple[list[Part], list[Event]]:
    """Parts of two clusters, known since different times; their changes, by a clock that goes back and forth."""
    known = [(0, 0), (chance.randrange(3_000), chance.randrange(SPAN))]
    parts = []
    for key in range(6):
        state, own = _condition(chance)
        rack = chance.choice(("r0", "r1", None))
        parts.append(Part(chance.choice(("chip", "nic")), key, rack, state, own, *known[key % 2]))
    events, last, number, clock = list[Event](), dict[int, int](), 0, 0
    for _ in range(chance.randrange(60)):
        number += chance.choice((1, 5, 700))
        before, clock = clock, min(max(clock + chance.randrange(-SPAN // 12, SPAN // 8), 1), SPAN - 1)
        part = chance.choice(parts[:5])
        state, own = _condition(chance)
        back = bool(events) and clock < before
        events.append(Event(number, last.get(part.key), back, part, part.state, state, part.own, own, clock))
        part.state, part.own, last[part.key] = state, own, number
    return parts, events


def _condition(chance: random.Random) -> tuple[str, str | None]:
    return chance.choice(STATES), chance.choice((None, *STATES))


def _written(directory: Path, parts: list[Part], events: list[Event]) -> None:
    with duckdb.connect() as made:
        made.execute(
            "CREATE TABLE part (kind TEXT, part_id BIGINT, rack TEXT, state TEXT, own_state TEXT, known_from BIGINT, "
            "since TIMESTAMP, cluster TEXT, model TEXT)"
        )
        made.execute(
            "CREATE TABLE event (id BIGINT, previous_id BIGINT, clock_went_back BOOLEAN, kind TEXT, part_id BIGINT, "
            "before TEXT, state TEXT, own_before TEXT, own_state TEXT, time TIMESTAMP)"
        )
        for of in parts:
            row = [of.kind, of.key, of.rack, of.state, of.own, of.known_from, _time(of.since), "c", "m"]
            made.execute(f"INSERT INTO part VALUES ({', '.join('?' * len(row))})", row)
        for at in events:
            key = [at.id, at.previous, at.back, at.part.kind, at.part.key]
            row = [*key, at.before, at.state, at.own_before, at.own, _time(at.us)]
            made.execute(f"INSERT INTO event VALUES ({', '.join('?' * len(row))})", row)
        for name, folder in (("part", "parts/version=1"), ("event", "events/day=2026-01-05")):
            (directory / folder).mkdir(parents=True)
            made.execute(f"COPY {name} TO '{directory / folder}/part-1.parquet'")


def _time(us: int) -> datetime:
    return (START + timedelta(microseconds=us)).replace(tzinfo=None)


def _walked(parts: list[Part], events: list[Event], since: int, until: int) -> list[AvailabilitySums]:
    """Each part's history from its first change on, one after the other."""
    earliest, times = SPAN, dict[int, int]()
    for event in reversed(events):
        earliest = times[event.id] = min(earliest, event.us)
    found = dict[tuple[str, str], Counter[str]]()
    for part in parts:
        if part.since < until:
            mine = [event for event in events if event.part is part and event.id > part.known_from]
            told = _of_one(part, mine, times, max(part.since, since), until)
            found.setdefault((part.kind, part.rack or ""), Counter()).update(told)
    return [
        AvailabilitySums(
            *(
                kind,
                rack or None,
                of["parts"],
                sum(of[state] for state in STATES),
                {state: of[state] for state in STATES},
            ),
            *(of["repairing"], of["failures"], of["repaired"], of["down_at_start"], of["open"]),
        )
        for (kind, rack), of in sorted(found.items())
    ]


def _of_one(part: Part, mine: list[Event], times: dict[int, int], begins: int, until: int) -> Counter[str]:
    state, own = (mine[0].before, mine[0].own_before) if mine else (part.state, part.own)
    at, is_down, found = begins, (own or state) == "down", Counter(parts=1)
    found["down_at_start"] = is_down
    for event in mine:
        now = times[event.id]
        if now > until:
            break
        found[state] += max(now, begins) - at
        found["repairing"] += (max(now, begins) - at) * is_down
        at, state, was_down = max(now, begins), event.state, is_down
        is_down = (event.own or event.state) == "down"
        if now > begins:
            found["failures"] += is_down and not was_down
            found["repaired"] += was_down and not is_down
        else:
            found["down_at_start"] = is_down
    found[state] += until - at
    found["repairing"] += (until - at) * is_down
    found["open"] = is_down
    return found


@pytest.mark.parametrize("seed", seeds(24, quick=3))
def test_sums_are_what_each_part_lived_through(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    parts, events = _lived(chance)
    _written(tmp_path, parts, events)
    edges = [0, SPAN - 1, *(event.us for event in events)]
    for _ in range(3):
        since, until = sorted((chance.choice(edges), chance.randrange(SPAN)))
        asked = [(START + timedelta(microseconds=us)).isoformat() for us in (since, until)]
        found = list(archive_sums(query_duckdb(tmp_path, transition_query(tmp_path, "rack", *asked))))
        assert found == (_walked(parts, events, since, until) if since < until else [])
