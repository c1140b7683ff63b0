"""Addresses: parsed, resolved in one query; the error says what exists instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, FromClause, event, literal, select, true

from trninv.database.engine import read_transaction
from trninv.database.tables import NODE_KINDS, TABLES
from trninv.errors import AddressError, UnknownAddressError, WrongLevelError
from trninv.inventory.address.expressions import address_expression, node_address_expression, node_addresses
from trninv.inventory.address.lookup import neighbours, resolve_link, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.address.syntax import LEVELS, Address, parse
from trninv.inventory.schema.thing import select_thing
from trninv.inventory.schema.things import THINGS
from trninv.routing.fleet import BaseFleet

TABLE_OF = {letters[-1]: level for letters, level in LEVELS.items() if letters} | {"fabric-t": "network_node"}
NUMBERS = st.integers(min_value=0, max_value=10**9 - 1)


@given(st.from_regex(r"[a-z0-9]([a-z0-9._]|-[a-z0-9._])*", fullmatch=True).filter(lambda s: len(s) < 60), st.data())
def test_printing_and_parsing_are_inverse(cluster: str, data: st.DataObject) -> None:
    letters = data.draw(st.sampled_from(sorted(LEVELS)))
    address = Address(cluster, tuple((step, data.draw(NUMBERS)) for step in letters))
    assert parse(str(address)) == address
    assert parse(f" {str(address).upper()} ") == address


@given(st.data())
def test_sql_and_python_write_an_address_alike(fleet: BaseFleet, data: st.DataObject) -> None:
    level = data.draw(st.sampled_from(sorted(LEVELS.values())))
    address = Address(
        "a.b-c", tuple((step, data.draw(NUMBERS)) for step in next(s for s in LEVELS if LEVELS[s] == level))
    )
    columns: dict[str, dict[str, str | int]] = {"cluster": {"slug": address.cluster}}
    for step, ordinal in address.steps:
        column = "tier" if step == "fabric-t" else "ordinal"
        columns.setdefault(TABLE_OF[step], {})[column] = ordinal
    tables = {
        name: select(*(literal(value).label(key) for key, value in row.items())).subquery(name)
        for name, row in columns.items()
    }
    joined: FromClause = tables["cluster"]
    for name in [*tables][1:]:
        joined = joined.join(tables[name], true())
    with fleet.engine.connect() as connection:
        assert connection.scalar(select(address_expression(level, tables)).select_from(joined)) == str(address)


def test_every_vertex_has_one_address_however_it_is_asked_for(worn: BaseFleet) -> None:
    node = TABLES["node"]
    with read_transaction(worn.engine) as connection:
        listed = {row.id: row.address for row in connection.execute(node_addresses())}
        asked = select(node.c.id, node_address_expression(node.c.id).label("address"))
        assert {row.id: row.address for row in connection.execute(asked)} == listed
        of_kinds = {
            row["id"]: (kind, row["address"])
            for kind in NODE_KINDS
            for row in connection.execute(select_thing(THINGS[kind])).mappings()
        }
        assert of_kinds == {key: (parse(address).level, address) for key, address in listed.items()}
        for key in list(listed)[::97]:
            assert resolve_place(connection, listed[key]).id == key


@pytest.mark.parametrize(
    "text",
    ["", "/", "a b", "a--b", "a/d", "a/d-1", "a/d1/c2", "a/s1", "a/d1/sw1/c1", "a/r1/s1", "a/d1/", "a/d" + "1" * 10,
     "a/x1", "a/d１", "'; DROP TABLE chip; --", "a" * 300, "a/d0\n/s0", "é/d0"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match="is not an address: write CLUSTER"):
        parse(text)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    try:
        assert parse(text).level in LEVELS.values()
    except AddressError as error:
        assert len(str(error)) < 600  # noqa: PT017 # refused is as good as parsed


@pytest.mark.parametrize(
    ("text", "level", "chips"),
    [
        ("trn3-gen2", "cluster", 144),
        ("trn3-gen2/d0", "domain", 144),
        ("trn3-gen2/r1", "rack", 72),
        ("trn3-gen2/d0/s35", "server", 4),
        ("trn3-gen2/d0/s35/c3", "chip", 1),
        ("trn3-gen2/d0/s35/c3/nc7", "core", 1),
    ],
)
def test_places_stand_for_their_chips_in_one_query_each(fleet: BaseFleet, text: str, level: str, chips: int) -> None:
    with read_transaction(fleet.engine) as connection:
        statements: list[str] = []

        def count(_c: Connection, _cursor: object, statement: str, *_rest: object) -> None:
            statements.append(statement)

        event.listen(fleet.engine, "before_cursor_execute", count)
        try:
            place = resolve_place(connection, text)
        finally:
            event.remove(fleet.engine, "before_cursor_execute", count)
        assert len(statements) == 1
        assert (place.address, place.level) == (text, level)
        assert len(connection.scalars(row_ids_in(place, "chip")).all()) == chips


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("trn2.48xlarge/d0", "no cluster trn2.48xlarge: did you mean trn2-16.48xlarge?"),
        ("u-trn2x64/d1", "no u-trn2x64/d1: u-trn2x64 has d0"),
        ("u-trn2x64/d0/s4/c1", "no u-trn2x64/d0/s4: u-trn2x64/d0 has s0 to s3"),
        ("u-trn2x64/d0/s0/c16", "u-trn2x64/d0/s0 has c0 to c15"),
        ("u-trn2x64/d0/s0/c1/nc8", "has nc0 to nc7"),
        ("u-trn2x64/d0/sw0", "u-trn2x64/d0 has no switch"),
        ("trn1.32xlarge/d0/s0/efa8", "has efa0 to efa7"),
        ("trn3-gen2/r2", "trn3-gen2 has r0 to r1"),
    ],
)
def test_an_unknown_address_says_what_there_is(fleet: BaseFleet, text: str, answer: str) -> None:
    with (
        read_transaction(fleet.engine) as connection,
        pytest.raises(UnknownAddressError, match=answer.replace("?", r"\?")),
    ):
        resolve_place(connection, text)


def test_a_link_in_either_order(fleet: BaseFleet) -> None:
    a, b = "trn1.32xlarge/d0/s0/c0", "trn1.32xlarge/d0/s0/c12"
    with read_transaction(fleet.engine) as connection:
        assert resolve_link(connection, f"{a}--{b}") == resolve_link(connection, f"{b}--{a}")
        with pytest.raises(UnknownAddressError, match=r"c0 is linked to .*/c1, .*/c3, .*/c4, .*/c12, .*/efa0"):
            resolve_link(connection, f"{a}--trn1.32xlarge/d0/s0/c5")
        with pytest.raises(WrongLevelError, match="is a server"):
            resolve_link(connection, f"{a}--trn1.32xlarge/d0/s0")


def test_a_switch_holds_no_chips(fleet: BaseFleet) -> None:
    with read_transaction(fleet.engine) as connection:
        switch = resolve_place(connection, "trn3-gen1/d0/sw5")
        with pytest.raises(WrongLevelError, match="is a switch"):
            row_ids_in(switch, "chip")
        assert len(neighbours(connection, switch.id)) == 32


def test_an_address_has_at_most_200_characters() -> None:
    assert parse("a" * 200).cluster == "a" * 200
    with pytest.raises(AddressError, match="is not an address"):
        parse("a" * 201)
