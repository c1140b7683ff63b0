"""Table of notes on incidents.

Revision ID: 0102
Revises: 0101
"""

from alembic import op

from trninv.database.first_schema.ddl import TEXT, create_index, create_table, required, varchar

revision = "0102"
down_revision = "0101"

KEEPS_READERS = True


def upgrade() -> None:
    create_table(
        "incident_note",
        *required(TEXT, "incident", "written_at", "who"),
        *required(varchar(8), "source"),
        *required(TEXT, "text"),
        checks={"source": "source IN ('command', 'api', 'import', 'drift', 'sql')"},
    )
    create_index("incident_note", "incident")


def downgrade() -> None:
    op.drop_table("incident_note")
