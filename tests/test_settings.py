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


def test_the_bundle_has_what_migrates_and_seeds() -> None:
    assert (resource_directory() / "alembic.ini").is_file()
    assert (resource_directory() / "migrations" / "env.py").is_file()
    assert (resource_directory() / "seed" / "catalog" / "sources.toml").is_file()
