"""Events say what part they are of, by which change, from where, and what was so before; a chain of digests seals them.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

SOURCES = "('command', 'api', 'import', 'drift', 'sql')"
KINDS = "('server', 'chip', 'switch', 'nic', 'network_node', 'link')"
CHECK = "CONSTRAINT ck_state_event_{0} CHECK ({0} IS NULL OR {0} IN {1})"
COLUMNS = (
    ("state_event", "batch", "INTEGER"),
    ("state_event", "source", "VARCHAR(8){c} " + CHECK.format("source", SOURCES)),
    ("state_event", "kind", "VARCHAR(12){c} " + CHECK.format("kind", KINDS)),
    ("state_event", "part_id", "INTEGER"),
    ("state_event", "previous_id", "INTEGER"),
    ("state_event", "own_before", "VARCHAR(12){c}"),
    ("state_event", "own_factor_ppm_before", "INTEGER"),
    ("state_event", "own_state", "VARCHAR(12){c}"),
    ("state_event", "own_factor_ppm", "INTEGER"),
    ("state_event", "clock_went_back", "BOOLEAN DEFAULT false NOT NULL"),
    ("cluster", "known_from", "INTEGER"),
    ("cluster", "known_since", "TEXT{c}"),
)
INDEXES = (
    ("batch", ["batch"], None),
    ("part", ["kind", "part_id", "id"], None),
    ("at", ["at", "id"], None),
    ("lost", ["id", "previous_id", "kind", "part_id"], "before <> 'up'"),
    ("back", ["id", "at"], "clock_went_back"),
)
NOW = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00'",
    "postgresql": """to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')""",
}


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    c = ' COLLATE "C"' if dialect == "postgresql" else ""
    for table, column, kind in COLUMNS:
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind.format(c=c)}")
    for name, columns, where in INDEXES:
        only = None if where is None else sa.text(where)
        op.create_index(f"ix_state_event_{name}", "state_event", columns, sqlite_where=only, postgresql_where=only)
    text = sa.Text(collation="C") if c else sa.Text()
    op.create_table(
        "event_seal",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.String(64, collation="C") if c else sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_seal"),
    )
    op.create_table(
        "_change",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, text, nullable=False) for name in ("at", "who", "why", "source")),
        sa.Column("batch", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk__change"),
    )
    op.execute(
        f"UPDATE cluster SET known_from = (SELECT coalesce(max(id), 0) FROM state_event), known_since = {NOW[dialect]}"
    )
    if dialect == "postgresql":
        op.execute(
            "CREATE TRIGGER event_seal_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON event_seal "
            "FOR EACH STATEMENT EXECUTE FUNCTION kept_for_ever()"
        )
        return
    for verb in ("UPDATE", "DELETE"):
        refuse = "SELECT RAISE(ABORT, 'event_seal is append only')"
        op.execute(f"CREATE TRIGGER event_seal_no_{verb.lower()} BEFORE {verb} ON event_seal BEGIN {refuse}; END")


def downgrade() -> None:
    op.drop_table("_change")
    op.drop_table("event_seal")
    for name, _, _ in reversed(INDEXES):
        op.drop_index(f"ix_state_event_{name}", "state_event")
    for table, column, _ in reversed(COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
