"""All tables, and on PostgreSQL the role that SQL reports read as.

It replaces the versions of the time before the first release. A database at the last of them has the same tables, so
that `trninv migrate` only changes its version (docs/decisions/first-schema-version.md).

Revision ID: 0100
Revises:
"""

import sqlalchemy as sa
from alembic import op

from trninv.database import first_schema

revision = "0100"
down_revision = None

REPLACES = "0048"
"""The version whose databases have the same tables: their services go on reading."""
_CREATE_READER = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'trninv_read') THEN
        CREATE ROLE trninv_read NOLOGIN;
    END IF;
    GRANT trninv_read TO CURRENT_USER;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    RAISE NOTICE 'trninv sql needs the role trninv_read: an administrator may make it';
END $$
"""


def upgrade() -> None:
    first_schema.create_tables()
    op.add_column("alembic_version", sa.Column("oldest_reader", sa.String(32)))
    if op.get_context().dialect.name == "postgresql":
        op.execute(_CREATE_READER)


def downgrade() -> None:
    """Remove all tables, but not the role: other databases of the server may use it."""
    first_schema.drop_tables()
    op.execute("ALTER TABLE alembic_version DROP COLUMN oldest_reader")  # no batch: Alembic is using this table
