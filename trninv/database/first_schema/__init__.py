"""Create and drop the tables of the first schema version. Don't edit what it creates: databases have these tables."""

from alembic import op

from trninv.database.first_schema import access, catalog, hardware, history, jobs, observations

_GROUPS = (catalog, hardware, jobs, observations, history, access)
"""Modules, ordered by the foreign keys of their tables."""


def create_tables() -> None:
    """Create all tables."""
    for group in _GROUPS:
        group.create()


def drop_tables() -> None:
    """Drop all tables."""
    for group in reversed(_GROUPS):
        for table in reversed(group.TABLES):
            op.drop_table(table)
