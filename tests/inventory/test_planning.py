"""What PostgreSQL spends on a statement before it runs it."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from threading import Event

import pytest
from sqlalchemy import Engine

import trninv
from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import INSERT_ORDER
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.response_cache import ResponseCache
from trninv.inventory import transfer
from trninv.reports import postgresql_reader
from trninv.settings import Settings

JIT = "SELECT current_setting('jit')"
DOCUMENT = "query ($n: Int) { chips(first: $n) { nodes { address links(first: 3) { nodes { address } } } } }"


@pytest.fixture(scope="module")
def planned(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.seeded("postgresql")) as engine:
        yield engine


@pytest.mark.parametrize("made", ["seeded", "copied"])
def test_sizes_are_known_at_once(planned: Engine, databases: Databases, made: str) -> None:
    """Not knowing them, PostgreSQL takes more than 30 s for a page of chips with their links, of 400,000 chips."""
    if made == "seeded":
        check_sizes(planned)
        return
    with temporary_engine(databases.migrated("postgresql")) as other:
        with read_transaction(planned) as source, write_transaction(other) as target:
            transfer.copy_database(source, target)
        check_sizes(other)


def check_sizes(engine: Engine) -> None:
    for name in INSERT_ORDER:
        sizes = f"SELECT (SELECT count(*) FROM {name}), reltuples FROM pg_class WHERE oid = '{name}'::regclass"
        with read_transaction(engine) as connection:
            counted, known = connection.exec_driver_sql(sizes).one()
        assert known == counted, name


def test_nothing_is_compiled_just_in_time(planned: Engine) -> None:
    with planned.connect() as connection:
        assert connection.exec_driver_sql(JIT).scalar() == "off"
        connection.rollback()
        assert connection.exec_driver_sql(JIT).scalar() == "off"
    with read_transaction(planned) as connection:
        assert connection.exec_driver_sql(JIT).scalar() == "off"
    with write_transaction(planned) as connection:
        assert connection.exec_driver_sql(JIT).scalar() == "off"
    with (  # POST /sql, reports and exports
        trninv.open(planned.url.render_as_string(hide_password=False)) as fleet,
        closing(fleet.shared_snapshot()) as snapshot,
        postgresql_reader.open_session(snapshot, 10, Event()) as cursor,
    ):
        cursor.execute(JIT)
        assert list(cursor.fetchmany(2)) == [("off",)]


def test_a_page_of_another_size_is_not_planned_anew(planned: Engine) -> None:
    with trninv.open(planned.url.render_as_string(hide_password=False)) as fleet:
        api = Api(fleet, Settings(database_url=""))
        api._responses = ResponseCache(max_bytes=0)
        for size in (3, 4) * 8:
            asyncio.run(api.run(Request(DOCUMENT, {"n": size})))
        with fleet.engine.connect() as connection:
            plans = (
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%%string_agg%%'"
            )
            found = connection.exec_driver_sql(plans).all()
    assert len(found) == 1
    assert found[0].generic_plans > 0
    assert found[0].custom_plans == 5  # PostgreSQL's own, before it compares
