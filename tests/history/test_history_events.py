"""What happened to a place and to what it holds, in which order, and by whom."""

import json
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text

from conftest import Run
from trninv.database.engine import read_transaction, write_transaction
from trninv.errors import InvalidTimeError, UnknownAddressError
from trninv.history.events import list_events
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

U = "u-trn2x64/d0"
LINK = f"{U}/s0/c0--{U}/s1/c0"


def _set(engine: Engine, address: str, state: str) -> datetime:
    with write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state), why=f"{state} it goes", who="tester")
    return datetime.now(UTC)


@pytest.fixture
def lived(engine: Engine) -> tuple[Engine, list[datetime]]:
    """Server 1, a link between servers 0 and 1, a chip of server 1 while it is down; and when each was."""
    changes = (f"{U}/s1", "down"), (LINK, "down"), (f"{U}/s1/c5", "maintenance"), ("trn1.2xlarge/d0/s0/c0", "down")
    return engine, [_set(engine, *change) for change in changes]


def _of(
    engine: Engine, scope: str | None = None, since: datetime | None = None, until: datetime | None = None
) -> list[str]:
    with read_transaction(engine) as connection:
        return [one.address for one in list_events(connection, scope, since=since, until=until)]


def test_a_place_has_the_events_of_all_it_holds(lived: tuple[Engine, list[datetime]]) -> None:
    engine, _ = lived
    of_domain = [f"{U}/s1/c5", LINK, f"{U}/s1"]
    assert _of(engine) == ["trn1.2xlarge/d0/s0/c0", *of_domain]
    assert _of(engine, "u-trn2x64") == _of(engine, U) == _of(engine, f"{U}/s1") == of_domain
    assert _of(engine, "u-trn2x64/r0") == of_domain
    assert _of(engine, f"{U}/s0") == _of(engine, f"{U}/s0/c0") == [LINK]
    assert _of(engine, f"{U}/s1/c0") == [LINK, f"{U}/s1/c0"]  # its server took it along
    assert _of(engine, f"{U}/s1/c5") == [f"{U}/s1/c5", f"{U}/s1/c5"]
    assert _of(engine, f"{U}/s1/c1") == [f"{U}/s1/c1"]  # not those of c10 to c15
    assert _of(engine, "--".join(reversed(LINK.split("--")))) == [LINK]
    with pytest.raises(UnknownAddressError):
        _of(engine, "u-trn2x64/r7")


def test_from_when_to_when(lived: tuple[Engine, list[datetime]]) -> None:
    engine, at = lived
    assert _of(engine, since=at[1]) == ["trn1.2xlarge/d0/s0/c0", f"{U}/s1/c5"]
    assert _of(engine, U, until=at[1]) == [LINK, f"{U}/s1"]
    assert _of(engine, U, since=at[0], until=at[1]) == [LINK]
    with pytest.raises(InvalidTimeError):
        _of(engine, since=datetime.now())  # noqa: DTZ005 # that is what is refused


def test_what_changes_beneath_a_server_that_is_down_is_told_as_its_own(lived: tuple[Engine, list[datetime]]) -> None:
    engine, _ = lived
    with read_transaction(engine) as connection:
        found = {one.event: one for one in list_events(connection, f"{U}/s1/c5")}
    assert [(str(one.before), str(one.after)) for one in found.values()] == [("up", "maintenance"), ("up", "down")]


def test_what_is_gone_still_has_its_events(lived: tuple[Engine, list[datetime]], run: Run) -> None:
    engine, _ = lived
    url = engine.url.render_as_string(hide_password=False)
    assert run("unseed", "trn1.2xlarge", "--yes", database=url)[0] == 0
    assert _of(engine, "trn1.2xlarge") == _of(engine, "trn1.2xlarge/d0/s0") == ["trn1.2xlarge/d0/s0/c0"]


def test_the_command_says_number_source_and_a_clock_that_went_back(
    lived: tuple[Engine, list[datetime]], run: Run
) -> None:
    engine, at = lived
    url = engine.url.render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO _change VALUES (1, '2020-01-01', 'a', 'b', 'sql', NULL)"))
        connection.execute(text("UPDATE server SET state = 'down' WHERE id = 1"))
        connection.execute(text("DELETE FROM _change"))
    _, out, _ = run("events", "--last", "1", "--format", "json", database=url)
    (one,) = json.loads(out)
    assert (one["at"], one["clockWentBack"]) == ("2020-01-01", True)
    told = "the clock was set back before event 37: event numbers give the order"
    _, out, error = run("events", "--last", "1", database=url)
    assert (out.splitlines()[-1], error) == (told, "only the first 1 are shown: --last N shows more\n")
    assert (one["event"], one["source"], one["before"], one["after"]) == (37, "sql", "up", "down")
    _, out, _ = run("events", U, "--since", at[0].isoformat(), "--until", at[1].isoformat(), database=url)
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["34"], out
    assert run("events", "--since", "2026-01-01", database=url)[0] == 2
