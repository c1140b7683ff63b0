"""Whether facts are in conflict is kept with them, as the catalog says when it is recorded.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"

RECORDED = """
UPDATE fact SET in_conflict = true WHERE EXISTS (
    SELECT 1 FROM fact AS said WHERE said.subject = fact.subject AND said.attribute = fact.attribute
    GROUP BY said.subject, said.attribute
    HAVING count(DISTINCT coalesce(CAST(value AS TEXT), written)) > 1 OR (count(*) > 1 AND count(reading_unit) > 0)
)"""
"""Of facts that are there already: what trninv.catalog.facts.disagree says at this revision."""


def upgrade() -> None:
    op.execute("ALTER TABLE fact ADD COLUMN in_conflict BOOLEAN DEFAULT false NOT NULL")
    op.execute(RECORDED)


def downgrade() -> None:
    op.execute("ALTER TABLE fact DROP COLUMN in_conflict")
