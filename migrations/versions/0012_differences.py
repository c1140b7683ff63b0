"""Facts say what they differ in and what others say, once the catalog is read anew; switches have a model.

Revision ID: 0012
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"

DIFFERENCES = "('value', 'rounding', 'unit')"

OURS = """
SELECT switch.id FROM switch JOIN node ON node.id = switch.id JOIN domain ON domain.id = node.domain_id
JOIN domain_model ON domain_model.id = domain.domain_model_id WHERE domain_model.slug IN ('trn3-gen1', 'trn3-gen2')"""
"""Switches whose model the catalog names at this revision."""


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    text = 'TEXT COLLATE "C"' if is_postgresql else "TEXT"
    check = f"CONSTRAINT ck_fact_differs_in CHECK (differs_in IS NULL OR differs_in IN {DIFFERENCES})"
    op.execute(f"ALTER TABLE fact ADD COLUMN differs_in {text} {check}")
    op.execute(f"ALTER TABLE fact ADD COLUMN others {text}")
    op.execute(f"ALTER TABLE fact ADD COLUMN dispute {text}")
    op.execute("ALTER TABLE fact DROP COLUMN in_conflict")
    op.create_table(
        "switch_model",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(collation="C" if is_postgresql else None), nullable=False),
        sa.Column("name", sa.Text(collation="C" if is_postgresql else None), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_switch_model"),
        sa.UniqueConstraint("slug", name="uq_switch_model_slug"),
    )
    reference = "CONSTRAINT fk_switch_switch_model_id REFERENCES switch_model (id)"
    op.execute(f"ALTER TABLE switch ADD COLUMN switch_model_id INTEGER {reference}")
    op.execute(f"INSERT INTO switch_model SELECT 1, 'neuronswitch-v1', 'NeuronSwitch-v1' WHERE EXISTS ({OURS})")
    op.execute(f"UPDATE switch SET switch_model_id = 1 WHERE id IN ({OURS})")


def downgrade() -> None:
    op.execute("ALTER TABLE switch DROP COLUMN switch_model_id")
    op.drop_table("switch_model")
    op.execute("ALTER TABLE fact ADD COLUMN in_conflict BOOLEAN DEFAULT false NOT NULL")
    op.execute("UPDATE fact SET in_conflict = true WHERE differs_in IS NOT NULL")
    op.execute("ALTER TABLE fact DROP COLUMN dispute")
    op.execute("ALTER TABLE fact DROP COLUMN others")
    op.execute("ALTER TABLE fact DROP COLUMN differs_in")
