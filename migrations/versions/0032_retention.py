"""Observations that newer ones of the same machine have superseded may go; a token of scope observe has a quota.

Revision ID: 0032
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0030"

_CITED = {
    "sqlite": "SELECT value FROM finding, json_each('[' || replace(evidence, ' ', ',') || ']')",
    "postgresql": "SELECT CAST(unnest(string_to_array(evidence, ' ')) AS bigint) FROM finding",
}
"""Ids of the observations that findings cite."""


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    text = sa.Text(collation="C") if dialect == "postgresql" else sa.Text()
    op.add_column("observation", sa.Column("speaker", text, nullable=True))
    op.execute("ALTER TABLE observation ADD COLUMN is_cited BOOLEAN DEFAULT false NOT NULL")
    op.create_index("ix_observation_speaker", "observation", ["source", "speaker", "seen_at", "id"])
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for name, kind in (("quota_hour", text), ("quota_rows", sa.Integer()), ("quota_bytes", big)):
        op.add_column("token", sa.Column(name, kind, nullable=True))
    named = "SELECT coalesce(instance, host) FROM observed_server WHERE observation_id = observation.id"
    op.execute(f"UPDATE observation SET speaker = ({named}) WHERE servers = 1 AND source LIKE 'neuron-%'")
    op.execute(f"UPDATE observation SET is_cited = true WHERE id IN ({_CITED[dialect]})")


def downgrade() -> None:
    """Which observations went is not recorded: they stay gone."""
    op.drop_index("ix_observation_speaker", "observation")
    for column in ("quota_bytes", "quota_rows", "quota_hour"):
        op.drop_column("token", column)
    for column in ("is_cited", "speaker"):
        op.drop_column("observation", column)
