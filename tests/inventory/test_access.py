"""Bearer tokens: shown once, stored as a digest, with one scope, ended by expiry or revocation."""

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from sqlalchemy import Engine, select, text, update

from trninv.errors import LimitError, UnauthenticatedError, UnknownTokenError
from trninv.inventory import access, migrate
from trninv.inventory.database import reading, writing
from trninv.inventory.schema import TABLES, TOKEN_SCOPES
from trninv.timestamps import format_timestamp


def test_a_token_is_known_by_its_digest_alone(engine: Engine) -> None:
    with writing(engine) as connection:
        made = access.create(connection, "grafana", "read", "90d")
    with reading(engine) as connection:
        assert access.holder(connection, made) == access.Holder("grafana", "read")
        plain, secret = (connection.execute(select(TABLES[name])).one() for name in ("token", "_token_digest"))
        assert made not in f"{plain} {secret}"
        assert secret.sha256 not in str(plain)
        assert made.startswith(access.PREFIX)
        assert [found.name for found in access.listed(connection)] == ["grafana"]
        with pytest.raises(UnauthenticatedError):
            access.holder(connection, made + "x")


def test_what_is_revoked_or_expired_is_worth_nothing(engine: Engine) -> None:
    with writing(engine) as connection:
        revoked = access.create(connection, "a", "admin", None)
        access.revoke(connection, "a")
        expired = access.create(connection, "b", "admin", "1h")
        before = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="microseconds")
        table = TABLES["token"]
        connection.execute(update(table).where(table.c.name == "b").values(expires=before))
    with reading(engine) as connection:
        for each in (revoked, expired):
            with pytest.raises(UnauthenticatedError):
                access.holder(connection, each)


def test_a_token_is_worth_nothing_from_the_instant_on_at_which_it_expires(engine: Engine) -> None:
    with writing(engine) as connection:
        made = access.create(connection, "a", "read", "1h")
    with reading(engine) as connection:
        end = datetime.fromisoformat(str(connection.scalar(select(TABLES["token"].c.expires))))
        with patch("trninv.inventory.access.current_timestamp") as now:
            now.return_value = format_timestamp(end - timedelta(microseconds=1))
            assert access.holder(connection, made).name == "a"
            for late in (timedelta(), timedelta(microseconds=1)):
                now.return_value = format_timestamp(end + late)
                with pytest.raises(UnauthenticatedError):
                    access.holder(connection, made)


def test_who_revokes_again_leaves_the_time_of_the_first(engine: Engine) -> None:
    with writing(engine) as connection:
        access.create(connection, "a", "read", None)
        access.revoke(connection, "a")
        first = access.listed(connection)
        access.revoke(connection, "a")
        assert access.listed(connection) == first


@pytest.mark.parametrize(
    ("name", "expires"), [("", None), ("a b", None), ("a" * 65, None), ("a", "0d"), ("a", "soon"), ("a", "99999d")]
)
def test_a_wrong_name_or_time_is_refused(engine: Engine, name: str, expires: str | None) -> None:
    with pytest.raises(LimitError), writing(engine) as connection:
        access.create(connection, name, "read", expires)


def test_names_are_unique_and_known(engine: Engine) -> None:
    with writing(engine) as connection:
        access.create(connection, "a", "read", None)
        with pytest.raises(LimitError, match="exists"):
            access.create(connection, "a", "read", None)
        with pytest.raises(UnknownTokenError, match="did you mean a"):
            access.revoke(connection, "ab")


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
    assert {each for each in TOKEN_SCOPES if access.Holder("a", scope).may(each)} == allowed


def test_a_token_of_scope_sql_survives_the_migration_that_knows_none(engine: Engine) -> None:
    with writing(engine) as connection:
        token = access.create(connection, "analyst", "sql", None)
    migrate.migrate(engine, "0007")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT scope FROM token")) == "read"
    migrate.migrate(engine)
    with reading(engine) as connection:
        assert access.holder(connection, token) == access.Holder("analyst", "read")


def test_a_token_of_scope_observe_is_gone_with_the_migration_that_knows_it(engine: Engine) -> None:
    with writing(engine) as connection:
        other, _ = (access.create(connection, name, scope, None) for name, scope in (("a", "read"), ("b", "observe")))
    migrate.migrate(engine, "0017")
    migrate.migrate(engine)
    with reading(engine) as connection:
        assert access.holder(connection, other) == access.Holder("a", "read")
        assert [row.name for row in access.listed(connection)] == ["a"]


def test_tokens_survive_the_migration_that_parts_their_digests_and_the_way_back(engine: Engine) -> None:
    with writing(engine) as connection:
        tokens = {name: access.create(connection, name, "operate", "90d") for name in ("a", "b", "c")}
        access.revoke(connection, "c")
    with reading(engine) as connection:
        before = access.listed(connection)
    migrate.migrate(engine, "0008")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(DISTINCT sha256) FROM token")) == len(tokens)
    migrate.migrate(engine)
    with reading(engine) as connection:
        assert access.listed(connection) == before
        assert [access.holder(connection, tokens[name]).name for name in "ab"] == ["a", "b"]
        with pytest.raises(UnauthenticatedError):
            access.holder(connection, tokens["c"])
