"""Bearer tokens: shown once, stored as a digest, with one scope, ended by expiry or revocation."""

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from sqlalchemy import Engine, select, text, update

from trninv.errors import InvalidArgumentError, UnauthenticatedError, UnknownTokenError
from trninv.inventory import access, migrate
from trninv.inventory.database import read_transaction, write_transaction
from trninv.inventory.schema import TABLES, TOKEN_SCOPES
from trninv.timestamps import format_timestamp


def test_a_token_is_known_by_its_digest_alone(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        made = access.create_token(connection, "grafana", "read", "90d")
    with read_transaction(engine) as connection:
        assert access.find_principal(connection, made) == access.Principal("grafana", "read")
        plain, secret = (connection.execute(select(TABLES[name])).one() for name in ("token", "_token_digest"))
        assert made not in f"{plain} {secret}"
        assert secret.sha256 not in str(plain)
        assert made.startswith(access.PREFIX)
        assert [found.name for found in access.list_tokens(connection)] == ["grafana"]
        with pytest.raises(UnauthenticatedError):
            access.find_principal(connection, made + "x")


def test_what_is_revoked_or_expired_is_worth_nothing(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        revoked = access.create_token(connection, "a", "admin", None)
        access.revoke_token(connection, "a")
        expired = access.create_token(connection, "b", "admin", "1h")
        before = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="microseconds")
        table = TABLES["token"]
        connection.execute(update(table).where(table.c.name == "b").values(expires=before))
    with read_transaction(engine) as connection:
        for each in (revoked, expired):
            with pytest.raises(UnauthenticatedError):
                access.find_principal(connection, each)


def test_a_token_is_worth_nothing_from_the_instant_on_at_which_it_expires(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        made = access.create_token(connection, "a", "read", "1h")
    with read_transaction(engine) as connection:
        end = datetime.fromisoformat(str(connection.scalar(select(TABLES["token"].c.expires))))
        with patch("trninv.inventory.access.current_timestamp") as now:
            now.return_value = format_timestamp(end - timedelta(microseconds=1))
            assert access.find_principal(connection, made).name == "a"
            for late in (timedelta(), timedelta(microseconds=1)):
                now.return_value = format_timestamp(end + late)
                with pytest.raises(UnauthenticatedError):
                    access.find_principal(connection, made)


def test_who_revokes_again_leaves_the_time_of_the_first(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        access.create_token(connection, "a", "read", None)
        access.revoke_token(connection, "a")
        first = access.list_tokens(connection)
        access.revoke_token(connection, "a")
        assert access.list_tokens(connection) == first


@pytest.mark.parametrize(
    ("name", "expires"), [("", None), ("a b", None), ("a" * 65, None), ("a", "0d"), ("a", "soon"), ("a", "99999d")]
)
def test_a_wrong_name_or_time_is_refused(engine: Engine, name: str, expires: str | None) -> None:
    with pytest.raises(InvalidArgumentError), write_transaction(engine) as connection:
        access.create_token(connection, name, "read", expires)


def test_names_are_unique_and_known(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        access.create_token(connection, "a", "read", None)
        with pytest.raises(InvalidArgumentError, match="exists"):
            access.create_token(connection, "a", "read", None)
        with pytest.raises(UnknownTokenError, match="did you mean a"):
            access.revoke_token(connection, "ab")


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", {"read"}),
        ("sql", {"read", "sql"}),
        ("operate", {"read", "operate"}),
        ("observe", {"observe"}),
        ("admin", {"read", "sql", "operate", "observe", "admin"}),
    ],
)
def test_what_a_scope_allows(scope: str, allowed: set[str]) -> None:
    assert {each for each in TOKEN_SCOPES if access.Principal("a", scope).allows(each)} == allowed


def test_a_token_of_scope_sql_survives_the_migration_that_knows_none(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        token = access.create_token(connection, "analyst", "sql", None)
    migrate.migrate(engine, "0007")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT scope FROM token")) == "read"
    migrate.migrate(engine)
    with read_transaction(engine) as connection:
        assert access.find_principal(connection, token) == access.Principal("analyst", "read")


def test_a_token_of_scope_observe_is_gone_with_the_migration_that_knows_it(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        other, _ = (
            access.create_token(connection, name, scope, None) for name, scope in (("a", "read"), ("b", "observe"))
        )
    migrate.migrate(engine, "0017")
    migrate.migrate(engine)
    with read_transaction(engine) as connection:
        assert access.find_principal(connection, other) == access.Principal("a", "read")
        assert [row.name for row in access.list_tokens(connection)] == ["a"]


def test_tokens_survive_the_migration_that_parts_their_digests_and_the_way_back(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        tokens = {name: access.create_token(connection, name, "operate", "90d") for name in ("a", "b", "c")}
        access.revoke_token(connection, "c")
    with read_transaction(engine) as connection:
        before = access.list_tokens(connection)
    migrate.migrate(engine, "0008")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(DISTINCT sha256) FROM token")) == len(tokens)
    migrate.migrate(engine)
    with read_transaction(engine) as connection:
        assert access.list_tokens(connection) == before
        assert [access.find_principal(connection, tokens[name]).name for name in "ab"] == ["a", "b"]
        with pytest.raises(UnauthenticatedError):
            access.find_principal(connection, tokens["c"])
