"""Bearer tokens: shown once, stored as a digest, with one scope, ended by expiry or revocation."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import Connection, Engine, Row, select, update

from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TABLES, TOKEN_SCOPES
from trninv.errors import InvalidArgumentError, UnauthenticatedError, UnknownTokenError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.units import format_timestamp


def listed(connection: Connection) -> Sequence[Row[Any]]:
    return connection.execute(select_things(THINGS["token"])).all()


def test_a_token_is_known_by_its_digest_alone(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        made = bearer_tokens.create_token(connection, "grafana", "read", "90d")
    with read_transaction(engine) as connection:
        assert bearer_tokens.find_principal(connection, made) == bearer_tokens.Principal("grafana", "read")
        plain, secret = (connection.execute(select(TABLES[name])).one() for name in ("token", "_token_digest"))
        assert made not in f"{plain} {secret}"
        assert secret.sha256 not in str(plain)
        assert made.startswith(bearer_tokens.PREFIX)
        assert [found.name for found in listed(connection)] == ["grafana"]
        with pytest.raises(UnauthenticatedError):
            bearer_tokens.find_principal(connection, made + "x")


def test_what_is_revoked_or_expired_is_worth_nothing(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        revoked = bearer_tokens.create_token(connection, "a", "admin", None)
        bearer_tokens.revoke_token(connection, "a")
        expired = bearer_tokens.create_token(connection, "b", "admin", "1h")
        before = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="microseconds")
        connection.execute(update(TABLES["token"]).where(TABLES["token"].c.revoked.is_(None)).values(expires=before))
    with read_transaction(engine) as connection:
        for each in (revoked, expired):
            with pytest.raises(UnauthenticatedError):
                bearer_tokens.find_principal(connection, each)


def test_a_token_is_worth_nothing_from_the_instant_on_at_which_it_expires(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        made = bearer_tokens.create_token(connection, "a", "read", "1h")
    with read_transaction(engine) as connection:
        end = datetime.fromisoformat(str(connection.scalar(select(TABLES["token"].c.expires))))
        with patch("trninv.inventory.access.bearer_tokens.current_timestamp") as now:
            now.return_value = format_timestamp(end - timedelta(microseconds=1))
            assert bearer_tokens.find_principal(connection, made).name == "a"
            for late in (timedelta(), timedelta(microseconds=1)):
                now.return_value = format_timestamp(end + late)
                with pytest.raises(UnauthenticatedError):
                    bearer_tokens.find_principal(connection, made)


def test_who_revokes_again_leaves_the_time_of_the_first(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, "a", "read", None)
        bearer_tokens.revoke_token(connection, "a")
        first = listed(connection)
        bearer_tokens.revoke_token(connection, "a")
        assert listed(connection) == first


@pytest.mark.parametrize(
    ("name", "expires"), [("", None), ("a b", None), ("a" * 65, None), ("a", "0d"), ("a", "soon"), ("a", "99999d")]
)
def test_a_wrong_name_or_time_is_refused(engine: Engine, name: str, expires: str | None) -> None:
    with pytest.raises(InvalidArgumentError), write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, name, "read", expires)


def test_names_are_known(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, "a", "read", None)
        with pytest.raises(UnknownTokenError, match="did you mean a"):
            bearer_tokens.revoke_token(connection, "ab")


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
    assert {each for each in TOKEN_SCOPES if bearer_tokens.Principal("a", scope).allows(each)} == allowed
