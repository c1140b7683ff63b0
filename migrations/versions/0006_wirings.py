"""Any wiring: which patterns there are is said by the files of trninv/topology/patterns, not by a constraint.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

NAME = "ck_domain_model_wiring"
CHECK = "wiring IN ('single', 'torus', 'switched')"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.drop_constraint(NAME, "domain_model")
    else:
        _made_anew()


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.create_check_constraint(op.f(NAME), "domain_model", CHECK)
    else:
        _made_anew(sa.CheckConstraint(CHECK, name="wiring"))


def _made_anew(*checks: sa.CheckConstraint) -> None:
    """SQLite changes no constraint in place. Nothing is renamed, which it would refuse while views read the table."""
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM domain_model")
    op.drop_table("domain_model")
    op.create_table(
        "domain_model",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("server_model_id", sa.Integer(), nullable=False),
        sa.Column("wiring", sa.Text(), nullable=False),
        sa.Column("sides", sa.Text(), nullable=False),
        sa.Column("servers", sa.Integer(), nullable=False),
        sa.Column("chips", sa.Integer(), nullable=False),
        *checks,
        sa.CheckConstraint("chips > 0", name="chips"),
        sa.CheckConstraint("servers > 0", name="servers"),
        sa.ForeignKeyConstraint(["server_model_id"], ["server_model.id"], name="fk_domain_model_server_model_id"),
        sa.PrimaryKeyConstraint("id", name="pk_domain_model"),
        sa.UniqueConstraint("slug", name="uq_domain_model_slug"),
    )
    op.create_index("ix_domain_model_server_model_id", "domain_model", ["server_model_id"])
    op.execute("INSERT INTO domain_model SELECT * FROM kept")
    op.execute("DROP TABLE kept")
