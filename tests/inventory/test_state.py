"""Conditions: what is set takes effect, is recorded, and can be restored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Engine, Integer, Subquery, Text, cast, select, text, true
from sqlalchemy.exc import DBAPIError

import trninv
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import STATES, TABLES
from trninv.errors import ConflictError, InvalidArgumentError, UnknownAddressError, WrongLevelError
from trninv.history.events import list_events
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import (
    PPM,
    UP,
    Condition,
    carried_bandwidth,
    carried_bandwidth_expression,
    carried_bandwidth_filter,
    effective_condition,
)
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet

U = "u-trn2x64/d0"
GB = 10**9

conditions = st.one_of(
    st.sampled_from([Condition(state) for state in STATES]),
    st.integers(min_value=1, max_value=PPM - 1).map(lambda factor: Condition("degraded", factor)),
)


def _set(engine: Engine, addresses: list[str], state: str, factor: float | None = None) -> list[str]:
    with write_transaction(engine) as connection:
        made = set_state(connection, addresses, Condition.from_user(state, factor), why="a test", who="tester")
    return [f"{change.address}: {change.before} → {change.after}" for change in made]


def _state(engine: Engine, address: str) -> str:
    with trninv.open(str(engine.url.render_as_string(hide_password=False))) as fleet:
        return "up" if fleet.path(address, address).reachable else "out"


@given(one=conditions, other=conditions)
def test_the_worst_of_two_carries_no_more_than_either(one: Condition, other: Condition) -> None:
    both = effective_condition(one, other)
    assert both in (one, other)
    assert both == effective_condition(other, one) or both.state != "degraded"
    assert carried_bandwidth(10**12, both) <= min(carried_bandwidth(10**12, one), carried_bandwidth(10**12, other))
    assert effective_condition(one, UP) == one


def test_a_link_carries_its_narrowest_part() -> None:
    half, third = Condition("degraded", PPM // 2), Condition("degraded", PPM // 4)
    assert carried_bandwidth(128 * GB, half, UP, third) == 32 * GB
    assert carried_bandwidth(128 * GB, half, Condition("down")) == 0
    assert carried_bandwidth(128 * GB, Condition("degraded")) == 128 * GB


def _part(name: str, condition: Condition, **more: int) -> Subquery:
    state, factor = cast(condition.state, Text), cast(condition.factor_ppm, Integer)
    others = (cast(value, BigInteger).label(key) for key, value in more.items())
    return select(state.label("state"), factor.label("factor_ppm"), *others).subquery(name)


@given(bandwidth=st.integers(min_value=1, max_value=2**63 - 1), own=conditions, a=conditions, b=conditions)
def test_sql_and_python_agree_on_what_a_link_carries(
    fleet: BaseFleet, bandwidth: int, own: Condition, a: Condition, b: Condition
) -> None:
    link, end_a, end_b = _part("link", own, bandwidth_bytes_per_s=bandwidth), _part("a", a), _part("b", b)
    query = select(carried_bandwidth_expression(link, end_a, end_b)).select_from(
        link.join(end_a, true()).join(end_b, true())
    )
    with fleet.engine.connect() as connection:
        assert connection.scalar(query) == carried_bandwidth(bandwidth, own, a, b)


def test_a_server_takes_its_chips_along_and_gives_them_back_as_they_were(engine: Engine) -> None:
    chip, other, server = f"{U}/s1/c5", f"{U}/s1/c6", f"{U}/s1"
    assert _set(engine, [chip], "down") == [f"{chip}: up → down"]
    assert _set(engine, [server], "maintenance") == [f"{server}: up → maintenance"]
    with trninv.open(engine.url.render_as_string(hide_password=False)) as fleet:
        assert fleet.memory_pool(f"{U}/s0/c0").chips == 48
        _set(engine, [other], "degraded", 0.5)  # while its server is out
        assert fleet.memory_pool(f"{U}/s0/c0").chips == 48
        _set(engine, [server], "degraded", 0.25)
        assert fleet.memory_pool(f"{U}/s0/c0").chips == 63
        assert fleet.path(f"{U}/s1/c0", f"{U}/s1/c1").paths[0].bandwidth == 32 * GB
        _set(engine, [server], "up")
        assert fleet.memory_pool(f"{U}/s0/c0").chips == 63
        assert fleet.path(f"{U}/s1/c0", f"{U}/s1/c1").paths[0].bandwidth == 128 * GB
        assert fleet.path(other, f"{U}/s1/c7").paths[0].bandwidth == 64 * GB
        assert not fleet.path(chip, other).reachable
        _set(engine, [chip, other], "up")
    with read_transaction(engine) as connection:
        kept = connection.scalar(text("SELECT count(*) FROM node WHERE own_state IS NOT NULL OR state <> 'up'"))
        assert kept == 0


def test_every_change_is_kept_and_only_changes(engine: Engine) -> None:
    link = f"{U}/s0/c0--{U}/s0/c1"
    assert _set(engine, [link], "degraded", 0.5) == [f"{link}: up → degraded to 0.5"]
    assert _set(engine, [f"{U}/s0/c1--{U}/s0/c0"], "degraded", 0.5) == []
    assert _set(engine, [link, f"{U}/s0/c9"], "down") == [f"{link}: degraded to 0.5 → down", f"{U}/s0/c9: up → down"]
    with read_transaction(engine) as connection:
        found = list(list_events(connection, f"{U}/s0/c1--{U}/s0/c0"))
        half = Condition("degraded", PPM // 2)
        assert [(one.before, one.after) for one in found] == [(half, Condition("down")), (UP, half)]
        assert {(one.who, one.why) for one in found} == {("tester", "a test")}
        assert len(list(list_events(connection, limit=2))) == 2
    for statement in ("UPDATE state_event SET who = 'nobody'", "DELETE FROM state_event"):
        with pytest.raises(DBAPIError, match="append only"), engine.begin() as connection:
            connection.execute(text(statement))


@pytest.mark.parametrize(
    ("changed", "wanted", "is_refused"),
    [
        ("s0/c0", "s0/c0", True),
        ("s0/c1", "s0/c0", False),
        ("s0", "s0/c0", True),
        ("s0/c0", "s0", False),
        ("s0/c0--s0/c1", "s0/c1--s0/c0", True),
        ("s0/c0--s0/c1", "s0/c0", False),
    ],
)
def test_what_was_changed_since_is_refused(engine: Engine, changed: str, wanted: str, is_refused: bool) -> None:
    def address(short: str) -> str:
        return "--".join(f"{U}/{end}" for end in short.split("--"))

    def set_since(event: int) -> None:
        with write_transaction(engine) as connection:
            down, who = Condition("down"), "tester"
            set_state(connection, [f"{U}/s3", address(wanted)], down, why="x", who=who, unchanged_since=event)

    with read_transaction(engine) as connection:
        known = connection.scalar(text("SELECT coalesce(max(id), 0) FROM state_event"))
    _set(engine, [address(changed)], "degraded", 0.5)
    if not is_refused:
        return set_since(known)
    with pytest.raises(ConflictError, match=rf"up to degraded at .*tester: a test.*after event {known}"):
        set_since(known)
    assert _state(engine, f"{U}/s3/c0") == "up"
    with read_transaction(engine) as connection:
        known = connection.scalar(text("SELECT max(id) FROM state_event"))
    return set_since(known)


def test_nothing_is_set_if_anything_is_wrong(engine: Engine) -> None:
    for addresses, error in (
        ([f"{U}/s0/c0", f"{U}/s0/c99"], UnknownAddressError),
        ([f"{U}/s0/c0", U], WrongLevelError),
        ([f"{U}/s0/c0", f"{U}/s0/c0/nc0"], WrongLevelError),
    ):
        with pytest.raises(error):
            _set(engine, addresses, "down")
    with (
        pytest.raises(InvalidArgumentError, match="why: write 1 to 1,000 characters"),
        write_transaction(engine) as connection,
    ):
        set_state(connection, [f"{U}/s0/c0"], Condition("down"), why=" ", who="tester")
    assert _state(engine, f"{U}/s0/c0") == "up"


@pytest.mark.parametrize(("state", "factor"), [("broken", None), ("degraded", None), ("up", 0.5), ("degraded", 1.0)])
def test_a_condition_that_can_not_be_is_refused(state: str, factor: float | None) -> None:
    with pytest.raises(InvalidArgumentError):
        Condition.from_user(state, factor)


def test_a_cluster_with_a_state_can_be_removed_and_its_events_stay(seeded: str) -> None:
    with temporary_engine(seeded) as engine:
        _set(engine, [f"{U}/s0"], "down")
        with write_transaction(engine) as connection:
            cluster_seeding.unseed(connection, resolve_place(connection, "u-trn2x64").id)
        with read_transaction(engine) as connection:
            assert [one.address for one in list_events(connection, f"{U}/s0")] == [f"{U}/s0"]


def test_of_two_states_the_worse_holds() -> None:
    """Down is worse than maintenance, which is worse than degraded: what is repaired may come back sooner."""
    order = [Condition("up"), Condition("degraded", 500_000), Condition("maintenance"), Condition("down")]
    for at, better in enumerate(order):
        for worse in order[at:]:
            assert effective_condition(better, worse) == effective_condition(worse, better) == worse
    assert effective_condition(Condition("degraded", 500_000), Condition("degraded", 250_000)) == Condition(
        "degraded", 250_000
    )


def test_links_are_searched_by_what_they_carry(worn: BaseFleet) -> None:
    link, node = TABLES["link"], TABLES["node"]
    a, b = node.alias(), node.alias()
    query = select(
        carried_bandwidth_expression(link, a, b), carried_bandwidth_filter(link), link.c.bandwidth_bytes_per_s
    )
    query = query.join(a, a.c.id == link.c.a_id).join(b, b.c.id == link.c.b_id)
    with read_transaction(worn.engine) as connection:
        found = [tuple(map(int, row)) for row in connection.execute(query)]
    assert all(carries == searched for carries, searched, _ in found)
    assert len([carries for carries, _, nominal in found if carries != nominal]) > 100
