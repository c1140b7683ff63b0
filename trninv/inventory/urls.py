"""Database URLs as people write them: a file's name is its name, and PostgreSQL may have several hosts."""

import re

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from trninv.errors import UsageError

_SQLITE = re.compile(r"(sqlite(?:\+pysqlite)?):///(.+)", re.DOTALL)
_OPTIONS = re.compile(r"\w+=[^/]*")
_SEVERAL = re.compile(r"(postgresql(?:\+psycopg)?://(?:[^@/?]*@)?)([^@/?]*,[^@/?]*)([/?].*)?")
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d*))?")


def parsed(url: str) -> URL:
    """What a URL says.

    Raises
    ------
    UsageError
        The name of an SQLite file has options after it, which only that of a URI can have.
    ArgumentError, ValueError
        It is no URL.

    """
    if file := _SQLITE.fullmatch(url):
        return _of_file(file[1], file[2])
    if several := _SEVERAL.fullmatch(url):
        return _of_hosts(several[1] + (several[3] or ""), several[2].split(","))
    return make_url(url)


def written(url: URL) -> str:
    """The same as text without a password, which is read as the same."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return url.render_as_string(hide_password=True)
    options = "&".join(f"{name}={value}" for name, value in url.query.items())
    return f"{url.drivername}:///{url.database}{'?' * bool(options)}{options}"


def _of_file(driver: str, path: str) -> URL:
    name, _, options = path.partition("?")
    if name.startswith("file:"):  # a URI, which SQLite itself takes apart
        return make_url(f"{driver}:///?{options}").set(database=name)
    if _OPTIONS.fullmatch(options):
        raise UsageError(
            f"a file takes no options: write sqlite:///{name}, or sqlite:///file:{name}?{options}&uri=true"
        )
    return URL.create(driver, database=path)


def _of_hosts(others: str, hosts: list[str]) -> URL:
    """As libpq takes them: host=A,B port=1,2 (PostgreSQL documentation, 32.1.1.3)."""
    found = [each for each in map(_HOST.fullmatch, hosts) if each]
    if len(found) < len(hosts):
        raise ArgumentError("a host is not one")
    query = {"host": ",".join(each[1].strip("[]") for each in found)}
    if any(each[2] for each in found):
        query["port"] = ",".join(each[2] or "" for each in found)
    return make_url(others).update_query_dict(query)
