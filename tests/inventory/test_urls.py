"""What a database URL says: a file by its very name, several hosts of PostgreSQL, never a password."""

from pathlib import Path

import psycopg.conninfo
import pytest
from sqlalchemy import make_url

from conftest import mostly_slow
from trninv.database import migration
from trninv.database.engine import open_engine, read_transaction, redacted_url, temporary_engine
from trninv.database.url import format_url, parse_url
from trninv.errors import UsageError


@pytest.mark.parametrize("name", mostly_slow(["p%41.db", "ä:@.db", "?", "a?b.db", "a#b.db", "a b+c.db", "%"], 3))
def test_a_file_is_the_one_that_is_named(tmp_path: Path, name: str) -> None:
    url = f"sqlite:///{tmp_path}/{name}"
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with read_transaction(engine):
            pass
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert redacted_url(url) == redacted_url(parse_url(url)) == url


@pytest.mark.parametrize(
    "url", ["sqlite:////tmp/ü机%41?.db", "sqlite:///file:a%3F.db?mode=ro&uri=true", "postgresql://u:p%40@h1:1,h2/机"]
)
def test_a_url_for_another_process_names_the_same_database(url: str) -> None:
    with temporary_engine(url) as engine:
        assert parse_url(format_url(engine.url, hide_password=False)) == engine.url


def test_a_file_has_no_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"write sqlite:///x.db, or sqlite:///file:x.db\?mode=ro&uri=true"):
        open_engine("sqlite:///x.db?mode=ro")
    file = tmp_path / "a?b%.db"
    with temporary_engine(f"sqlite:///{file}") as engine:
        migration.migrate(engine)
    named = str(file).replace("%", "%25").replace("?", "%3F")
    with temporary_engine(f"sqlite:///file:{named}?mode=ro&uri=true") as engine, read_transaction(engine):
        pass
    assert {each.name.removesuffix("-wal").removesuffix("-shm") for each in tmp_path.iterdir()} == {file.name}


@pytest.mark.parametrize("url", ["", " ", "x", "sqlite", "postgresql://h:x,i/d", "postgresql://h:1:2,i/d"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not a database URL"):
        open_engine(url)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgresql://h1,h2/d", {"host": "h1,h2", "dbname": "d"}),
        ("postgresql://u:p@h1:1,h2:2/d", {"host": "h1,h2", "port": "1,2", "user": "u", "password": "p"}),
        ("postgresql://h1,h2:2/d?target_session_attrs=any", {"host": "h1,h2", "port": ",2"}),
        ("postgresql://[::1]:1,[::2]/d", {"host": "::1,::2", "port": "1,"}),
        ("postgresql://u:a,b@h1/d", {"host": "h1", "password": "a,b"}),
    ],
)
def test_hosts_are_read_as_libpq_reads_them(url: str, wanted: dict[str, str]) -> None:
    with temporary_engine(url) as engine:
        _, given = engine.dialect.create_connect_args(engine.url)
    said = psycopg.conninfo.conninfo_to_dict(url)
    del given["context"]
    assert {"port": ",", **said} == {"port": ",", **given}
    assert wanted.items() <= given.items()
    assert ":p@" not in redacted_url(url)
    assert make_url(redacted_url(url)).database == "d"
