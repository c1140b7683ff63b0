"""The version table names the oldest schema version whose releases can read the database.

On PostgreSQL, the schema of views of the past is named after the schema of the tables, so that several installations
can share a database; the one that they shared before is dropped by the installation whose tables it reads.

Revision ID: 0041
Revises: 0039
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0039"

_DROP_SHARED_SCHEMA = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid JOIN pg_class AS past
                   ON past.oid = ev_class JOIN pg_class AS present ON present.oid = refobjid
               WHERE pg_depend.classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass
                   AND past.relnamespace = to_regnamespace('trninv_past')
                   AND present.relnamespace = to_regnamespace(quote_ident(current_schema()))) THEN
        DROP SCHEMA trninv_past CASCADE;
    END IF;
END $$"""


def upgrade() -> None:
    op.add_column("alembic_version", sa.Column("oldest_reader", sa.String(32)))
    if op.get_context().dialect.name == "postgresql":
        op.execute(_DROP_SHARED_SCHEMA.replace(":", r"\:"))


def downgrade() -> None:
    op.execute("ALTER TABLE alembic_version DROP COLUMN oldest_reader")  # no batch: Alembic is using this table
