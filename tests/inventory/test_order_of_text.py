"""Text has one order on both databases, also where PostgreSQL's own locale orders it as a dictionary does."""

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from populating import populate
from queries import run_query
from sqlalchemy import text

import postgres
import trninv
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.list_arguments import TEXT_FORMATS, is_ordered
from trninv.graphql.query_root import QUERY_LISTS
from trninv.inventory.schema.thing import ValueFormat
from trninv.inventory.schema.things import THINGS
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.inventory.transfer import copy_database
from trninv.reports.query_compiler import compile_query
from trninv.reports.report_library import read_reports
from trninv.reports.views import READABLE
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

NAMES = ("b1", "b-1", "b_1", "b.1", "ba", "b-a", "a-b", "ab", "b10", "b-10")
"""Clusters that a dictionary and code points order otherwise."""
_LOCALE = "en_US.UTF-8"

pytestmark = pytest.mark.slow  # a server of their own


def _make(url: str) -> None:
    populate(url)
    _add_clusters(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("rainier").resized(2))


def _add_clusters(url: str) -> None:
    """Add clusters of all names to a database that has the current schema."""
    small, wide = (default_systems().by_name[name] for name in ("trn1.2xlarge", "trn1.32xlarge"))
    with temporary_engine(url) as engine:
        for name in NAMES:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), small, name=name)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), wide, name="w-1")
            for name in NAMES[::2]:
                set_state(connection, [f"{name}/d0/s0/c0"], Condition("down"), why="test", who=f"who {name}")


@pytest.fixture(scope="module")
def dictionary() -> Iterator[str]:
    """URL of a database with such an order."""
    made = shutil.which("localedef")
    if made is None:
        pytest.skip("no localedef to make a locale with")
    with ExitStack() as stack:
        kind = tempfile.TemporaryDirectory
        folders = [Path(stack.enter_context(kind(prefix="pg", ignore_cleanup_errors=True))) for _ in "ab"]
        folders[0].chmod(0o755)
        command = [made, "-i", "en_US", "-f", "UTF-8", str(folders[0] / _LOCALE)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("localedef has no sources to make a locale of")
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("LOCPATH", str(folders[0]))
        url = stack.enter_context(postgres.server(folders[1]))
        with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
            made_with = f"LOCALE_PROVIDER libc LOCALE '{_LOCALE}' TEMPLATE template0"
            connection.execute(f"CREATE DATABASE dictionary {made_with}".encode())
        yield url.format("dictionary")


@pytest.fixture(scope="module")
def both(dictionary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[BaseFleet]]:
    """The same fleets on SQLite and there."""
    urls = [f"sqlite:///{tmp_path_factory.mktemp('order')}/fleet.db", dictionary]
    _make(urls[0])
    with temporary_engine(urls[0]) as source, temporary_engine(urls[1]) as target:
        migration.migrate(target)
        with read_transaction(source) as found, write_transaction(target) as made:
            copy_database(found, made)
    with trninv.open(urls[0]) as lite, trninv.open(urls[1]) as other:
        yield [lite, other]


def test_the_locale_orders_otherwise(dictionary: str) -> None:
    """Or the other tests would show nothing."""
    with psycopg.connect(dictionary) as connection:
        found = connection.execute("SELECT array_agg(x ORDER BY x) FROM unnest(ARRAY['b1', 'b-2']) AS x").fetchone()
    assert found == (["b1", "b-2"],)


def _pages(api: Api, name: str, order: str, given: str) -> list[Any]:
    found, after = [], "null"
    for _ in range(3):
        document = (
            f"{{ {name}({given}orderBy: [{{{order}}}], after: {after}) {{ pageInfo {{ endCursor }} "
            "edges { cursor } totalCount } }"
        )
        answer = json.loads(asyncio.run(api.run(Request(document))).body)
        page = answer["data"][name]
        found.append(page)
        after = json.dumps(page["pageInfo"]["endCursor"])
        if after == "null":
            break
    return found


# one test of all lists, because each worker that runs a test of this file makes its databases
def test_pages_of_every_list_ordered_by_every_text(both: list[BaseFleet]) -> None:
    apis = [Api(fleet, Settings(database_url="")) for fleet in both]
    ordered_texts = (
        (name, each)
        for name, kind in QUERY_LISTS.items()
        for each in THINGS[kind].fields
        if is_ordered(each) and each.format in (*TEXT_FORMATS, ValueFormat.ENUM)
    )
    for name, field in ordered_texts:
        ordered = _camel(field.name)
        for way, given in (("ASC", "first: 4, "), ("DESC", "first: 3, ")):
            lite, other = (_pages(api, _camel(name), f"{ordered}: {way}", given) for api in apis)
            assert lite == other, (name, field.name, way)
            assert lite[0]["edges"], name


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_filters_that_compare_texts(both: list[BaseFleet]) -> None:
    document = "query ($t: String!) { clusters(filter: {slug: {%s: $t}}) { nodes { slug } } }"
    apis = [Api(fleet, Settings(database_url="")) for fleet in both]
    for test in ("lt", "gte"):
        request = Request(document % test, {"t": "b.1"})
        lite, other = (json.loads(asyncio.run(api.run(request)).body)["data"] for api in apis)
        assert lite == other


def _texts(fleet: BaseFleet, name: str) -> list[str]:
    """The columns of texts of a table or view on SQLite."""
    with fleet.connect() as connection:
        found = connection.execute(text(f"PRAGMA table_info({name})")).all()
    return [row.name for row in found if not row.type.startswith(("INT", "BOOL"))]


def _read(fleet: BaseFleet, sql: str) -> list[Any]:
    with fleet.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_sql_orders_and_compares_texts_alike(both: list[BaseFleet]) -> None:
    for name, column in ((view, column) for view in sorted(READABLE) for column in _texts(both[0], view)):
        for sql in (
            f"SELECT DISTINCT {column} AS x FROM {name} WHERE {column} IS NOT NULL ORDER BY {column} LIMIT 200",
            f"SELECT min({column}) AS least, max({column}) AS most, count(*) AS n FROM {name}",
        ):
            lite, other = (_read(fleet, sql) for fleet in both)
            assert lite == other, sql


def test_numbers_as_text_are_ordered_alike(both: list[BaseFleet]) -> None:
    """The column is no text, so it is what a query makes of it that counts."""
    sql = "SELECT CAST(ordinal - 2 AS TEXT) AS x FROM v_chip WHERE cluster = 'w-1' ORDER BY CAST(ordinal - 2 AS TEXT)"
    lite, other = (
        run_query(fleet.engine, compile_query(sql, fleet.engine.dialect.name), seconds=30).rows for fleet in both
    )
    assert lite == other
    assert lite[0] == ("-1",)


def test_reports_have_one_order(both: list[BaseFleet]) -> None:
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"  # one for both, where a report is of the time until it is asked for
    for name, report in read_reports().items():
        given = {each.name: now for each in report.parameters if each.name == "until"}
        sql = (report.sql(fleet.engine.dialect.name, given) for fleet in both)
        lite, other = (run_query(fleet.engine, each, seconds=30).rows for fleet, each in zip(both, sql, strict=True))
        assert json.dumps(lite) == json.dumps(other), name


def test_an_answer_rests_on_its_facts_in_one_order(both: list[BaseFleet]) -> None:
    lite, other = (fleet.memory_pool("w-1/d0/s0/c0") for fleet in both)
    assert [(fact.subject, fact.attribute) for fact in lite.facts] == [
        (fact.subject, fact.attribute) for fact in other.facts
    ]


def test_every_column_of_text_is_compared_by_code_points(dictionary: str, both: list[BaseFleet]) -> None:
    """A migration that adds one has to say so: docs/how-to/add-a-column.md."""
    assert both
    query = (
        "SELECT attrelid::regclass::text, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
        "JOIN pg_collation ON pg_collation.oid = attcollation WHERE relnamespace = 'public'::regnamespace "
        "AND relkind = 'r' AND NOT attisdropped AND collname <> 'C' AND relname <> 'alembic_version'"
    )
    with psycopg.connect(dictionary) as connection:
        assert connection.execute(query).fetchall() == []
        tables = {row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert tables >= set(TABLES)
