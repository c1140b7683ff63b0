"""Parse database URLs and print them without passwords.

SQLAlchemy's own parser takes ``?`` in a file name for the start of options, and accepts only one host.
"""

import re

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from trninv.errors import UsageError
from trninv.settings import is_service

_SQLITE = re.compile(r"(sqlite(?:\+pysqlite)?):///(.+)", re.DOTALL)
"""Driver and path of an SQLite file."""
_OPTIONS = re.compile(r"\w+=[^/]*")
"""Text after a ``?`` that can only be meant as options, not as the rest of a file name."""
_MULTI_HOST = re.compile(r"(postgresql(?:\+psycopg)?://(?:[^@/?]*@)?)([^@/?]*,[^@/?]*)([/?].*)?")
"""A PostgreSQL URL with several hosts: the text before the hosts, the hosts, and the text after them."""
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d*))?")
"""Host, in brackets if it is an IPv6 address, and port."""


def parse_url(url: str) -> URL:
    """Parse a database URL; the name of an SQLite file is taken literally.

    Raises
    ------
    UsageError
        Options follow the name of an SQLite file, although only a file: URI can have them; or a service has the URL.
    ArgumentError, ValueError
        The text is not a URL.
    """
    if is_service(url):
        raise UsageError(
            "this needs the database itself, not a service: name it by --database sqlite:///FILE or postgresql://…; "
            "trninv.connect asks a service"
        )
    if file := _SQLITE.fullmatch(url):
        return _file_url(file[1], file[2])
    if multi_host := _MULTI_HOST.fullmatch(url):
        return _multi_host_url(multi_host[1] + (multi_host[3] or ""), multi_host[2].split(","))
    return make_url(url)


def format_url(url: URL, *, hide_password: bool = True) -> str:
    """Return the URL as text, which `parse_url` reads back; SQLAlchemy would percent-encode the name of a file."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return url.render_as_string(hide_password=hide_password)
    options = "&".join(f"{name}={value}" for name, value in url.query.items())
    return f"{url.drivername}:///{url.database}{'?' * bool(options)}{options}"


def _file_url(driver: str, path: str) -> URL:
    name, _, options = path.partition("?")
    if name.startswith("file:"):  # a URI, which SQLite itself parses
        return make_url(f"{driver}:///?{options}").set(database=name)
    if _OPTIONS.fullmatch(options):
        raise UsageError(
            f"the name of a file has no options: write sqlite:///{name}, or sqlite:///file:{name}?{options}&uri=true"
        )
    return URL.create(driver, database=path)


def _multi_host_url(base_url: str, hosts: list[str]) -> URL:
    """Return a URL with several hosts, in libpq's form: host=A,B port=1,2 (PostgreSQL documentation, 32.1.1.3)."""
    matches = [match for match in map(_HOST.fullmatch, hosts) if match]
    if len(matches) < len(hosts):
        raise ArgumentError("not a host")
    query = {"host": ",".join(match[1].strip("[]") for match in matches)}
    if any(match[2] for match in matches):
        query["port"] = ",".join(match[2] or "" for match in matches)
    return make_url(base_url).update_query_dict(query)
