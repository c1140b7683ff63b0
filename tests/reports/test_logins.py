"""The login of `POST /sql` on PostgreSQL: whatever it may do beyond reading, nothing runs as it."""

from collections.abc import Iterator

import pytest
from queries import run_query
from sqlalchemy import Engine

from conftest import Databases
from trninv.database.engine import temporary_engine
from trninv.errors import SqlError
from trninv.reports.views import ROLE

_TOO_MUCH = [
    *(f"ALTER ROLE trninv_more {may}" for may in ("SUPERUSER", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS")),
    "GRANT pg_read_all_data TO trninv_more",
    "GRANT SELECT ON token TO trninv_more",
    "GRANT SELECT ON _token_digest TO trninv_more",
    "GRANT SELECT ON token_event TO trninv_more",
    "GRANT SELECT ON principal TO trninv_more",
    "GRANT SELECT ON token TO PUBLIC",
    "CREATE TABLE of_trninv_more (id int); ALTER TABLE of_trninv_more OWNER TO trninv_more",
]
"""Statements after which a login may do more than read."""


@pytest.fixture(scope="module")
def owner(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.seeded("postgresql")) as engine:
        yield engine


@pytest.fixture
def login(owner: Engine) -> Iterator[str]:
    """URL of a login that may only read, which ends with the test."""
    _run(owner, f"CREATE ROLE trninv_more LOGIN IN ROLE {ROLE}")
    yield owner.url.set(username="trninv_more").render_as_string(hide_password=False)
    _run(owner, "REVOKE SELECT ON token FROM PUBLIC; DROP OWNED BY trninv_more; DROP ROLE trninv_more")


def _run(engine: Engine, statements: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statements)


@pytest.mark.parametrize("too_much", _TOO_MUCH)
def test_a_login_that_may_more_than_read_is_refused(owner: Engine, login: str, too_much: str) -> None:
    with temporary_engine(login) as strangers:
        assert run_query(owner, "SELECT 1 AS one", seconds=10, login=strangers).rows == [(1,)]
    _run(owner, too_much)
    with temporary_engine(login) as strangers, pytest.raises(SqlError, match="has more rights than trninv_read"):
        run_query(owner, "SELECT 1 AS one", seconds=10, login=strangers)
