"""What may not run is refused by name, twice: by the guard that reads the SQL, and by the database itself."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from queries import run_query, stream_query
from sqlalchemy import Engine

from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import SqlError, TimeLimitError
from trninv.inventory.access import bearer_tokens
from trninv.reports.query_compiler import compile_query

DIALECTS = ["sqlite", "postgresql"]

REFUSED = {
    "INSERT INTO cluster (id) VALUES (1)": "INSERT",
    "UPDATE chip SET ordinal = 1": "UPDATE",
    "DELETE FROM link": "DELETE",
    "DROP TABLE chip": "DROP",
    "CREATE TABLE x (a int)": "CREATE",
    "ALTER TABLE chip ADD COLUMN x int": "ALTER",
    "WITH gone AS (DELETE FROM link RETURNING id) SELECT * FROM gone": "DELETE",
    "SELECT * INTO x FROM chip": "INTO",
    "SELECT * FROM chip FOR UPDATE": "LOCK",
    "ATTACH DATABASE '/tmp/x.db' AS x": "ATTACH|COMMAND|not a query",
    "SELECT * FROM chip :b AT c": "not a query",
    "PRAGMA writable_schema = 1": "PRAGMA|COMMAND|not a query",
    "VACUUM": "COMMAND|refused|one query|not a query",
    "SET ROLE postgres": "SET|COMMAND",
    "COPY chip TO '/tmp/x'": "COPY|not a query",
    "SELEC x": "not a query; write a SELECT",
    "SELECT 1; SELECT 2": "exactly one",
    "": "exactly one",
    "SELECT * FROM token": "token",
    "SELECT * FROM _token_digest": "_token_digest",
    'SELECT sha256 FROM "_TOKEN_DIGEST"': "_TOKEN_DIGEST",
    "WITH _token_digest AS (SELECT 1 AS one) SELECT one FROM _token_digest": "WITH _token_digest",
    "SELECT sha256 FROM v_chip, token": "token",
    'SELECT * FROM "Token"': "token",
    "WITH x AS (WITH token AS (SELECT 1) SELECT * FROM token) SELECT * FROM token": "WITH token",
    "WITH v_chip AS (SELECT 1 AS address) SELECT * FROM v_chip": "WITH v_chip",
    "SELECT (SELECT sha256 FROM token LIMIT 1) FROM chip": "token",
    "SELECT * FROM main.token": "schema",
    "SELECT * FROM pg_catalog.pg_authid": "schema",
    "SELECT * FROM pg_shadow": "pg_shadow",
    "SELECT * FROM sqlite_master": "sqlite_master",
    "SELECT * FROM alembic_version": "alembic_version",
    "SELECT * FROM nowhere": "no table or view nowhere",
    "SELECT * FROM generate_series(1, 10)": "generate_series",
    "SELECT pg_sleep(10)": "pg_sleep",
    "SELECT pg_read_file('/etc/passwd')": "pg_read_file",
    "SELECT lo_import('/etc/passwd')": "lo_import",
    "SELECT load_extension('x')": "load_extension",
    "SELECT readfile('/etc/passwd')": "readfile",
    "SELECT randomblob(1000000000)": "randomblob",
    "SELECT set_config('role', 'postgres', false)": "set_config",
    "SELECT current_setting('data_directory')": "current_setting",
    "SELECT query_to_xml('select 1', true, true, '')": "query_to_xml",
    "SELECT pg_terminate_backend(1)": "pg_terminate_backend",
    "EXPLAIN SELECT 1": "refused|not a query",
    "SELECT :nothing": "no value for :nothing",
    "SELECT (" * 2000: "not a query|nested|too",
    "SELECT '" + "x" * 30_000 + "'": "more than",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_query_of_the_inventory_is_refused_by_name(text: str, dialect: str) -> None:
    with pytest.raises(SqlError, match=f"(?i){REFUSED[text]}") as refused:
        compile_query(text, dialect)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=200), st.sampled_from(DIALECTS))
def test_any_text_is_a_query_or_refused(text: str, dialect: str) -> None:
    try:
        made = compile_query(text, dialect)
    except SqlError:
        return
    assert made.lstrip("( ").upper().startswith(("SELECT", "WITH", "VALUES", "FROM"))


@pytest.fixture(params=DIALECTS)
def guarded(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.seeded(request.param)) as engine:
        with write_transaction(engine) as connection:
            bearer_tokens.create_token(connection, "secret", "admin", None)
        yield engine


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO source (id, slug, title, publisher, kind) VALUES (999, 'x', 'x', 'x', 'seed')",
        "UPDATE chip SET ordinal = 1",
        "DELETE FROM state_event",
        "CREATE TABLE x (a int)",
        "CREATE TEMP TABLE x (a int)",
        "SELECT * FROM token",
        "SELECT * FROM _token_digest",
        "SELECT name FROM (SELECT * FROM token) AS t",
        "SELECT sha256 FROM (SELECT * FROM _token_digest) AS t",
        "SELECT version_num FROM alembic_version",
    ],
)
def test_the_database_refuses_what_would_slip_through(guarded: Engine, text: str) -> None:
    """Past the guard, straight to the reader."""
    with pytest.raises(SqlError, match="the database refuses"):
        run_query(guarded, text, seconds=10)


@pytest.mark.parametrize("text", ["ATTACH DATABASE '/tmp/trninv-attached.db' AS x", "PRAGMA query_only = OFF"])
def test_sqlite_refuses_other_files_and_settings(databases: Databases, text: str) -> None:
    with temporary_engine(databases.seeded("sqlite")) as engine, pytest.raises(SqlError, match="refuses"):
        run_query(engine, text, seconds=10)
    assert not Path("/tmp/trninv-attached.db").exists()  # noqa: S108 # where it would be


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT lo_import('/etc/passwd')",
        "RESET ROLE",
    ],
)
def test_postgresql_refuses_files_and_programs(databases: Databases, text: str) -> None:
    with temporary_engine(databases.seeded("postgresql")) as engine, pytest.raises(SqlError, match="refuses"):
        run_query(engine, text, seconds=10)


def test_a_query_for_ever_is_stopped_and_the_next_one_runs(guarded: Engine) -> None:
    for_ever = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"
    with pytest.raises(TimeLimitError):
        run_query(guarded, compile_query(for_ever, guarded.dialect.name), seconds=0.5)
    assert run_query(guarded, "SELECT count(*) FROM chip", seconds=10).rows == [(305,)]


def test_nothing_of_a_session_stays(databases: Databases) -> None:
    """After a query the same engine may write again, as who it was."""
    for backend in DIALECTS:
        with temporary_engine(databases.seeded(backend)) as engine:
            run_query(engine, "SELECT 1 AS one", seconds=10)
            with write_transaction(engine) as connection:
                bearer_tokens.create_token(connection, "after", "read", None)


def test_a_row_too_many_is_said(guarded: Engine) -> None:
    found = run_query(
        guarded,
        compile_query("SELECT address FROM v_chip ORDER BY address", guarded.dialect.name),
        seconds=10,
        max_rows=5,
    )
    assert (len(found.rows), found.truncated, found.columns) == (5, True, ("address",))
    assert not run_query(guarded, "SELECT 1 AS one", seconds=10, max_rows=1).truncated


def test_rows_are_streamed(guarded: Engine) -> None:
    with stream_query(guarded, "SELECT id FROM core ORDER BY id", seconds=10) as found:
        first = [next(found.rows)[0] for _ in range(3)]
    assert first == [1, 2, 3]


def test_sqlite_opens_the_file_for_reading_only(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    file = Path(url.removeprefix("sqlite:///"))
    before = file.read_bytes()
    with temporary_engine(url) as engine:
        run_query(engine, "SELECT count(*) FROM v_link", seconds=10)
    assert file.read_bytes() == before
    reader = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    with closing(reader), pytest.raises(sqlite3.OperationalError):
        reader.execute("CREATE TABLE x (a)")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "SELECT * FROM v_chip WHERE address = 'rainier/d17/s2/c5'",
            "domain_ordinal = 17 AND server_ordinal = 2 AND ordinal = 5",
        ),
        ("SELECT * FROM v_core WHERE chip = 'a/d1/s2/c3'", "server_ordinal = 2 AND chip_ordinal = 3"),
        (
            "SELECT * FROM v_server s WHERE 'a/d1/s2' = s.address",
            "s.cluster = 'a' AND s.domain_ordinal = 1 AND s.ordinal = 2",
        ),
        ("SELECT * FROM v_link WHERE a = 'a/d1/s2/c3'", "domain_ordinal = 1)"),
        ("SELECT * FROM v_switch WHERE rack = 'a/r7'", "cluster = 'a' AND rack_ordinal = 7)"),
        ("SELECT * FROM v_nic WHERE address = 'a/d1/s2/efa3'", "server_ordinal = 2 AND ordinal = 3)"),
        ("SELECT * FROM v_link WHERE b = 'a/fabric/t3/n1'", "(b = 'a/fabric/t3/n1' AND cluster = 'a')"),
        ("SELECT * FROM v_rack WHERE address = 'a/r7'", "cluster = 'a' AND ordinal = 7"),
    ],
)
def test_an_address_is_also_said_in_what_has_an_index(dialect: str, text: str, says: str) -> None:
    assert says in compile_query(text, dialect)
