"""A PostgreSQL connection that ends while rows are read from it."""

import gc
import warnings

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from conftest import Databases
from trninv.database.engine import temporary_engine


def test_a_lost_connection_leaves_no_cursor_open(databases: Databases) -> None:
    with temporary_engine(databases.empty("postgresql")) as engine, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with engine.connect() as connection:
            reader = connection.execution_options(stream_results=True)
            session = reader.scalar(text("SELECT pg_backend_pid()"))
            with engine.connect() as other:
                assert other.scalar(text("SELECT pg_terminate_backend(:session, 5000)"), {"session": session})
            with pytest.raises(DBAPIError) as lost:
                reader.execute(text("SELECT 1"))
            assert lost.value.connection_invalidated
            del lost
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
