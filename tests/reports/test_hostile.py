"""SQL from a stranger: whatever PostgreSQL can call is refused in every spelling, or is on the list."""

import itertools
import os
import signal
from contextlib import suppress
from threading import Event, Thread

import psycopg
import pytest
from queries import run_query
from sqlalchemy import Engine, make_url
from starlette.testclient import TestClient

from conftest import Databases, Run
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import SqlError, TimeLimitError
from trninv.inventory.access import bearer_tokens
from trninv.reports import postgresql_reader, sqlite_process
from trninv.reports.query_compiler import compile_query
from trninv.service.application import create_app
from trninv.settings import Settings

_QUOTED = "a'b"
DIALECTS = ["sqlite", "postgresql"]
COMPUTE = {
    "abs",
    "avg",
    "btrim",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "concat",
    "count",
    "cume_dist",
    "dense_rank",
    "first_value",
    "floor",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "ln",
    "log",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "now",
    "nth_value",
    "ntile",
    "percent_rank",
    "position",
    "pow",
    "power",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sqrt",
    "stddev",
    "string_agg",
    "strpos",
    "substr",
    "substring",
    "sum",
    "upper",
    "var_samp",
    "variance",
}
"""Names of PostgreSQL's functions that a query may call."""


@pytest.fixture(scope="module")
def functions(databases: Databases) -> list[tuple[str, int]]:
    """Every function of a real PostgreSQL, with the number of its arguments."""
    with psycopg.connect(databases.empty("postgresql")) as connection:
        return connection.execute("SELECT DISTINCT proname, pronargs FROM pg_proc ORDER BY 1, 2").fetchall()


@pytest.mark.slow
def test_every_function_of_postgresql_is_refused_or_only_computes(functions: list[tuple[str, int]]) -> None:
    assert len(functions) > 2_000
    passed = set[str]()
    for name, number in functions:
        for arguments in (", ".join(["slug"] * number), ", ".join(["1"] * number)):
            with suppress(SqlError):
                compile_query(f"SELECT {name}({arguments}) FROM chip_model", "postgresql")
                passed.add(name)
    assert passed <= COMPUTE, passed - COMPUTE
    assert passed >= COMPUTE - {"now"} - {"mod", "char_length", "character_length", "substr"} - {"ceiling", "pow"}


@pytest.mark.slow
def test_no_function_is_called_as_an_attribute(functions: list[tuple[str, int]]) -> None:
    for name in sorted({name for name, _ in functions} - {"name"}):
        for text in (f"SELECT (slug).{name} FROM chip_model", f"SELECT chip_model.{name} FROM chip_model"):
            with pytest.raises(SqlError):
                compile_query(text, "postgresql")


_CALLS = (
    "pg_sleep(9)",
    "pg_advisory_lock(42)",
    "ts_stat('select 1')",
    "set_config('role', 'none', true)",
    "lo_get(1)",
    "pg_read_file('/etc/passwd')",
    "query_to_xml('select 1', true, true, '')",
    "dblink('x', 'select 1')",
    "version()",
    "current_setting('port')",
    "pg_ls_dir('/')",
    "repeat('x', 99)",
    "lpad('x', 99)",
    "random()",
    "nextval('x')",
    "txid_current()",
    "regexp_replace('a', 'b', 'c')",
    "to_tsvector('x')",
    "load_extension('x')",
    "randomblob(9)",
    "zeroblob(9)",
    "printf('%9d', 1)",
    "readfile('x')",
    "json_each('[]')",
    "row_to_json(c)",
    "generate_series(1, 9)",
    "pg_terminate_backend(1)",
    "format('%s', 1)",
    "xpath('/', '<a/>')",
    "pg_logical_emit_message(true, '', '')",
    "inet_server_addr()",
    "array_agg(id)",
    "chr(65)",
    "hex('a')",
)
_PLACES = (
    "SELECT {} FROM chip AS c",
    "SELECT 1 FROM chip AS c WHERE {} IS NULL",
    "SELECT 1 FROM chip AS c ORDER BY {}",
    "SELECT * FROM {} AS x",
    "SELECT count(*) FILTER (WHERE {} = 1) FROM chip AS c",
    "WITH w AS (SELECT {} AS a FROM chip AS c) SELECT a FROM w",
)
_SPELLINGS = (
    "SELECT ('select set_config(''role'',''none'',true)'::text).ts_stat",
    "SELECT (20::float8).pg_sleep",
    "SELECT (42::bigint).pg_advisory_lock",
    "SELECT c.row_to_json FROM chip AS c",
    "SELECT (c).row_to_json FROM chip AS c",
    "SELECT (c.*).row_to_json FROM chip AS c",
    "SELECT c FROM chip AS c",
    "SELECT c.ctid FROM chip AS c",
    "SELECT rowid FROM chip",
    "SELECT ((c)).id FROM chip AS c",
    "SELECT (SELECT c).id FROM chip AS c",
    "SELECT pg_catalog.pg_sleep(1)",
    'SELECT "pg_sleep"(1)',
    "SELECT x.rank FROM (SELECT 1 AS ran\u212a) AS x",
    'SELECT x.row_to_json FROM (SELECT 1 AS "ROW_TO_JSON") AS x',
    "WITH x(a) AS (SELECT 1 AS to_json) SELECT x.to_json FROM x",
    "SELECT x.count FROM (SELECT count(*) FROM chip) AS x",
    "SELECT 1 OPERATOR(pg_catalog.+) 1",
    "SELECT @ -1",
    "SELECT 'a' ~ 'a'",
    "SELECT 'a' SIMILAR TO 'a'",
    "SELECT a -> 'b' FROM (SELECT 1 AS a) x",
    "SELECT 'a' COLLATE \"C\"",
    "SELECT slug AT TIME ZONE 'UTC' FROM chip_model",
    "SELECT ARRAY[1]",
    "SELECT (ARRAY[1])[1]",
    "SELECT ROW(1, 2)",
    "SELECT 'x'::regclass",
    "SELECT 'x'::xml",
    "SELECT '1'::bytea",
    "SELECT '1.1.1.1'::inet",
    "SELECT '[1,2)'::int4range",
    "SELECT '1'::interval",
    "SELECT '2026-01-01'::timestamptz",
    "SELECT '{}'::jsonb",
    "SELECT 1::numeric(9, 2)::oid",
    "SELECT 'a'::chip",
    "SELECT x'00ff'",
    "SELECT b'01'",
    "SELECT interval '1 day'",
    "SELECT 1e999",
    "SELECT 99999999999999999999",
    "SELECT e'\\x41'",
    "SELECT current_user",
    "SELECT session_user",
    "SELECT user",
    "SELECT current_catalog",
    "SELECT localtime",
    "SELECT extract(epoch FROM now())",
    "SELECT substring('a' FROM 'a' FOR '#') ~ 'a'",
    "SELECT * FROM chip TABLESAMPLE BERNOULLI (1)",
    "SELECT * FROM ROWS FROM (pg_ls_dir('/')) AS x",
    "SELECT * FROM ONLY chip",
    "TABLE token",
    "SELECT * FROM LATERAL (SELECT 1) AS x",
    "SELECT * FROM unnest(ARRAY[1])",
    "SELECT DISTINCT ON (id) id FROM chip",
    "SELECT $1",
    "SELECT ?",
    "SELECT * FROM (SELECT * FROM token) AS x",
    "SELECT * FROM chip JOIN token USING (id)",
    "SELECT EXISTS (TABLE token)",
    "VALUES (pg_sleep(1))",
    "SELECT 1 FROM chip AS a, chip AS a",
    "SELECT nothing FROM chip",
    "SELECT chip.nothing FROM chip",
    "SELECT other.id FROM chip",
    "SELECT a.b.c.d",
    "SELECT :x::regclass",
    "SELECT id FROM chip FOR SHARE",
    "SELECT \x00",
    "SELECT max(1, 2)",
    "SELECT x.* FROM chip",
)
_LARGE = (
    "SELECT " + "replace(" * 5 + "slug" + ", 'a', 'aaaaaaaaaaaaaaaaaaaa')" * 5 + " FROM chip_model",
    "SELECT slug LIKE '" + "%a" * 1_200 + "' FROM chip_model",
    "SELECT slug LIKE slug || slug || slug FROM chip_model",
    "WITH a AS (SELECT slug || slug AS s FROM chip_model)"
    + "".join(f", {b} AS (SELECT s || s AS s FROM {a})" for a, b in itertools.pairwise("abcdefghi"))
    + " SELECT s FROM i",
    "WITH RECURSIVE g(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM g) SELECT count(*) FROM g",
    "WITH RECURSIVE g(s) AS (SELECT 'x' UNION ALL SELECT concat(s, s) FROM g) SELECT count(*) FROM g",
    "WITH RECURSIVE g(s) AS (SELECT 'x' UNION ALL SELECT replace(s, 'x', 'xx') FROM g) SELECT count(*) FROM g",
    "SELECT string_agg(a.slug, ',') || string_agg(a.slug, ',') FROM chip_model AS a",
    "SELECT " + ", ".join(f"string_agg(slug, ',') AS a{at}" for at in range(40)) + " FROM chip_model",
)
HOSTILE = [place.format(call) for place in _PLACES for call in _CALLS] + [*_SPELLINGS, *_LARGE]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_statements_are_refused_in_one_line(dialect: str) -> None:
    assert len(HOSTILE) > 257
    for text in HOSTILE:
        with pytest.raises(SqlError) as refused:
            print(text, compile_query(text, dialect))  # noqa: T201 # shown if it passes
        assert "\n" not in str(refused.value)


@pytest.fixture
def login(databases: Databases) -> tuple[str, str]:
    """URLs of a PostgreSQL database, of its owner and of a login that may only read."""
    url = databases.seeded("postgresql")
    other = make_url(url).set(username="trninv_sql", password=_QUOTED).render_as_string(hide_password=False)
    with temporary_engine(url) as engine:
        postgresql_reader.make_login(engine, other)
        postgresql_reader.make_login(engine, other)
    return url, other


def test_the_url_of_a_login_may_have_several_hosts(databases: Databases) -> None:
    with temporary_engine(databases.seeded("postgresql")) as engine:
        postgresql_reader.make_login(engine, "postgresql://trninv_hosts:p@h1:1,h2:2/d")
        with engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT 1 FROM pg_roles WHERE rolname = 'trninv_hosts'").scalar() == 1


def test_a_statement_runs_as_a_login_that_can_undo_nothing(login: tuple[str, str]) -> None:
    """Past the guard: leaving the role leads to one that may not read the tokens either."""
    url, other = login
    with temporary_engine(url) as engine, temporary_engine(other) as strangers:
        assert run_query(engine, "SELECT session_user AS who", seconds=10, login=strangers).rows == [("trninv_sql",)]
        left = "SELECT set_config('role', 'none', true) AS role"
        assert run_query(engine, left, seconds=10, login=strangers).rows == [("none",)]
        for closed in ("token", "_token_digest"):
            with strangers.connect() as connection, pytest.raises(Exception, match=f"denied for table {closed}"):
                connection.exec_driver_sql(f"SELECT * FROM {closed}")
        with pytest.raises(SqlError, match="has more rights than trninv_read"):
            run_query(engine, "SELECT 1 AS one", seconds=10, login=engine)


def test_sql_over_http_wants_its_scope_and_on_postgresql_its_login(login: tuple[str, str]) -> None:
    url, other = login
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {
            scope: bearer_tokens.create_token(connection, scope, scope, None)
            for scope in ("read", "sql", "operate", "admin")
        }
    asked = {"sql": "SELECT count(*) AS n FROM v_chip"}

    def status(settings: Settings, scope: str, path: str = "/sql") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {tokens[scope]}"}
        with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
            answer = (
                client.post(path, json=asked, headers=headers) if path == "/sql" else client.get(path, headers=headers)
            )
        return answer.status_code, answer.text

    settings = Settings(database_url=url, log="off", auth="tokens", sql_url=other)
    found = {scope: status(settings, scope)[0] for scope in tokens}
    assert found == {"read": 403, "sql": 200, "operate": 403, "admin": 200}
    assert status(settings, "read", "/reports/capacity.json")[0] == 200
    refused, says = status(Settings(database_url=url, log="off", auth="tokens"), "sql")
    assert (refused, "set TRNINV_SQL_URL" in says, "IN ROLE trninv_read" in says) == (400, True, True)


def test_migrate_makes_the_login(databases: Databases, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    url = databases.seeded("postgresql")
    other = make_url(url).set(username="trninv_made", password=_QUOTED).render_as_string(hide_password=False)
    monkeypatch.setenv("TRNINV_SQL_URL", other)
    assert run("migrate", database=url)[0] == 0
    with temporary_engine(url) as engine, temporary_engine(other) as login:
        assert run_query(engine, "SELECT 1 AS one", seconds=10, login=login).rows == [(1,)]


SLOW = {
    "a long pattern": "SELECT count(*) AS n FROM v_link AS a, v_link AS b, v_link AS c "
    "WHERE a.address || b.address || c.address LIKE '" + "%a%d0%s1%c" * 20 + "'",
    "nested replace": "SELECT sum(length(replace(replace(a.address || b.address, 'a', 'bbbb'), 'b', 'aaaa'))) AS n "
    "FROM v_link AS a, v_link AS b, v_link AS c",
}


@pytest.mark.parametrize("what", SLOW)
def test_a_statement_ends_at_its_limit(engine: Engine, what: str) -> None:
    with pytest.raises(TimeLimitError):
        run_query(engine, compile_query(SLOW[what], engine.dialect.name), seconds=0.5)


def test_a_process_that_hears_nothing_is_killed(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    """As stuck as can be: it never looks at its statement."""
    stuck = f"import time; time.sleep(600) # {sqlite_process.__file__}"
    monkeypatch.setattr("trninv.reports.sqlite_reader._COMMAND", ["-c", stuck])
    with temporary_engine(databases.seeded("sqlite")) as engine, pytest.raises(TimeLimitError):
        run_query(engine, "SELECT 1 AS one", seconds=0.5)


@pytest.mark.slow
def test_a_server_that_hears_nothing_is_hung_up_on(databases: Databases) -> None:
    """Its process is stopped: it can be neither cancelled nor terminated."""
    url, ended = databases.seeded("postgresql"), Event()
    seen = list[BaseException]()

    def ask() -> None:
        with temporary_engine(url) as engine:
            try:
                run_query(engine, "SELECT pg_sleep(60) AS slept", seconds=4)
            except TimeLimitError as error:
                seen.append(error)
        ended.set()

    Thread(target=ask, daemon=True).start()
    with psycopg.connect(url, autocommit=True) as watching:
        asleep = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
        while not (found := watching.execute(asleep).fetchone()):
            assert not ended.is_set()
        os.kill(found[0], signal.SIGSTOP)
        try:
            assert ended.wait(30)
        finally:
            os.kill(found[0], signal.SIGCONT)
    assert len(seen) == 1


def test_an_answer_is_bounded_in_bytes(engine: Engine) -> None:
    query = compile_query("SELECT a.address || b.address AS both FROM v_chip AS a, v_chip AS b", engine.dialect.name)
    found = run_query(engine, query, seconds=60, max_bytes=10_000)
    assert found.truncated
    assert 100 < len(found.rows) < 500


def test_a_text_that_grows_while_it_runs_is_refused(engine: Engine) -> None:
    query = "SELECT string_agg(a.address, ',') AS long FROM v_link AS a, v_cluster AS b"
    with pytest.raises(SqlError, match=r"more than 100,000 characters|too big"):
        run_query(engine, compile_query(query, engine.dialect.name), seconds=60)
