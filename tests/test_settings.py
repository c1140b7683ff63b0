"""Settings come from the environment; files from the checkout or the wheel."""

import pytest

from trninv.errors import UsageError
from trninv.settings import Settings, default_database, resource_directory


def test_the_default_database_is_a_file_of_the_user() -> None:
    assert Settings.load({}).database_url == default_database()
    assert default_database().startswith("sqlite:///")
    assert default_database().endswith("trninv.db")


def test_the_environment_decides() -> None:
    given = {"TRNINV_DATABASE_URL": "postgresql://h/d", "TRNINV_REQUEST_SECONDS": "2.5"}
    assert Settings.load(given) == Settings("postgresql://h/d", request_seconds=2.5)


@pytest.mark.parametrize("seconds", ["soon", "-1", "0", "nan", "inf"])
def test_a_wrong_number_says_which(seconds: str) -> None:
    with pytest.raises(UsageError, match=f"TRNINV_REQUEST_SECONDS='{seconds}'"):
        Settings.load({"TRNINV_REQUEST_SECONDS": seconds})


@pytest.mark.parametrize("name", ["TRNINV_SQL_URL", "TRNINV_READ_URL"])
def test_a_login_or_a_standby_is_of_postgresql_and_its_url_is_not_shown(name: str) -> None:
    Settings.load({name: "postgresql+psycopg://u:secret@h/d"})
    with pytest.raises(UsageError, match=f"^{name} is not a PostgreSQL URL$"):
        Settings.load({name: "mysql://u:secret@h/d"})


def test_the_bundle_has_what_migrates_and_seeds() -> None:
    assert (resource_directory() / "alembic.ini").is_file()
    assert (resource_directory() / "migrations" / "env.py").is_file()
    assert (resource_directory() / "seed" / "catalog" / "sources.toml").is_file()


_OPENID = {"TRNINV_OIDC_ISSUER": "https://i", "TRNINV_OIDC_AUDIENCE": "a,b", "TRNINV_OIDC_JWKS": "https://i/keys"}
_PROXY = {"TRNINV_PROXY_HEADER": "X-User", "TRNINV_PROXY_ADDRESSES": "10.0.0.5,fd00::/64"}


def test_people_sign_in_by_openid_or_a_proxy() -> None:
    people = {"TRNINV_AUTH": "tokens", "TRNINV_GROUP_SCOPES": "sre=operate, ou=x=sql,*=read"}
    settings = Settings.load({**people, **_OPENID, **_PROXY})
    assert settings.group_scopes == (("sre", "operate"), ("ou=x", "sql"), ("*", "read"))
    assert (settings.oidc_audience, settings.oidc_name, settings.oidc_groups) == (("a", "b"), "email", "groups")
    assert [str(network) for network in settings.proxy_addresses] == ["10.0.0.5/32", "fd00::/64"]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (_OPENID, "TRNINV_OIDC_ISSUER needs TRNINV_GROUP_SCOPES"),
        ({"TRNINV_PROXY_HEADER": "X-User"}, "TRNINV_PROXY_HEADER needs TRNINV_PROXY_ADDRESSES and TRNINV_GROUP_SCOPES"),
        ({"TRNINV_ENROLL_CERTIFICATES": __file__}, "TRNINV_ENROLL_CERTIFICATES needs TRNINV_ENROLL_ACCOUNTS"),
        ({**_PROXY, "TRNINV_GROUP_SCOPES": "a=read"}, "TRNINV_PROXY_HEADER needs TRNINV_AUTH=tokens"),
        ({**_PROXY, "TRNINV_GROUP_SCOPES": "a=read", "TRNINV_AUTH": "none"}, "needs TRNINV_AUTH=tokens"),
        ({"TRNINV_GROUP_SCOPES": "a=observe"}, "is not GROUP=SCOPE,… with the scopes read, sql, operate or admin"),
        ({"TRNINV_GROUP_SCOPES": "=read"}, "is not GROUP=SCOPE"),
        ({"TRNINV_GROUP_SCOPES": "read"}, "is not GROUP=SCOPE"),
        ({"TRNINV_OIDC_JWKS": "http://i/keys"}, "is neither an https:// URL nor a file"),
        ({"TRNINV_OIDC_JWKS": "http://localhost.evil/keys"}, "is neither an https:// URL nor a file"),
        ({"TRNINV_OIDC_JWKS": "/nonexistent"}, "is not a file"),
        ({"TRNINV_PROXY_HEADER": "X User"}, "is not the name of a header"),
        ({"TRNINV_PROXY_ADDRESSES": "10.0.0.5/24"}, "is not a list of addresses or networks"),
        ({"TRNINV_PROXY_ADDRESSES": "proxy"}, "is not a list of addresses or networks"),
        ({"TRNINV_ENROLL_ACCOUNTS": "12345678901"}, "is not a list of AWS accounts"),
        ({"TRNINV_ENROLL_CERTIFICATES": "/nonexistent"}, "is not a file"),
        ({"TRNINV_ENROLL_LIFETIME": "0d"}, "is not a number of days or hours"),
    ],
)
def test_what_would_let_in_too_many_is_refused(environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Settings.load(environ)
