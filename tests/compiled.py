"""Statements compiled once for all engines: SQLAlchemy compiles them for each, and each test has its own."""

from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.util import LRUCache


class _Statements(LRUCache[tuple[Any, ...], Any]):
    """Compiled statements by kind and version of the database, instead of by dialect, of which each engine has one."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get(_named(key), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        super().__setitem__(_named(key), compiled)


def _named(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dialect, *others = key
    return (type(dialect), dialect.server_version_info, *others)


_STATEMENTS = _Statements(2_000)


@event.listens_for(Engine, "engine_connect")
def _share(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_STATEMENTS)
