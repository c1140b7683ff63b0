"""The role that SQL reports read as. What they read, the views, has no revision: see migrations/env.py.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"

READER = """
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
    if op.get_context().dialect.name == "postgresql":
        op.execute(READER)


def downgrade() -> None:
    """Leave the role: other databases of the server may use it."""
