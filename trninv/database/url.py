"""Parse database URLs and print them without passwords."""

import re

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from trninv.errors import UsageError

_SQLITE = re.compile(r"(sqlite(?:\+pysqlite)?):///(.+)", re.DOTALL)
_OPTIONS = re.compile(r"\w+=[^/]*")
_MULTI_HOST = re.compile(r"(postgresql(?:\+psycopg)?://(?:[^@/?]*@)?)([^@/?]*,[^@/?]*)([/?].*)?")
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d*))?")


def parse_url(url: str) -> URL:
    """Parse a database URL; the name of an SQLite file is taken literally.

    Raises
    ------
    UsageError
        Options follow the name of an SQLite file, which only a file: URI can have.
    ArgumentError, ValueError
        The text is not a URL.
    """
    if file := _SQLITE.fullmatch(url):
        return _file_url(file[1], file[2])
    if multi_host := _MULTI_HOST.fullmatch(url):
        return _multi_host_url(multi_host[1] + (multi_host[3] or ""), multi_host[2].split(","))
    return make_url(url)


def format_url(url: URL) -> str:
    """Return the URL as text without its password; `parse_url` reads it back."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return url.render_as_string(hide_password=True)
    options = "&".join(f"{name}={value}" for name, value in url.query.items())
    return f"{url.drivername}:///{url.database}{'?' * bool(options)}{options}"


def _file_url(driver: str, path: str) -> URL:
    name, _, options = path.partition("?")
    if name.startswith("file:"):  # a URI, which SQLite itself takes apart
        return make_url(f"{driver}:///?{options}").set(database=name)
    if _OPTIONS.fullmatch(options):
        raise UsageError(
            f"a file takes no options: write sqlite:///{name}, or sqlite:///file:{name}?{options}&uri=true"
        )
    return URL.create(driver, database=path)


def _multi_host_url(base_url: str, hosts: list[str]) -> URL:
    """Return a URL with several hosts, in libpq's form: host=A,B port=1,2 (PostgreSQL documentation, 32.1.1.3)."""
    matches = [match for match in map(_HOST.fullmatch, hosts) if match]
    if len(matches) < len(hosts):
        raise ArgumentError("a host is not one")
    query = {"host": ",".join(match[1].strip("[]") for match in matches)}
    if any(match[2] for match in matches):
        query["port"] = ",".join(match[2] or "" for match in matches)
    return make_url(base_url).update_query_dict(query)
