"""Events that are in an archive may be removed, and nothing else: what tells which, and triggers that ask it.

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

REFUSE = "SELECT RAISE(ABORT, '{} is append only')"
GONE = "(SELECT coalesce(max(id), 0) FROM history_archive)"
MAY_GO = (("state_event", f"<= {GONE}"), ("event_seal", f"< {GONE}"))
"""Tables, and the numbers of the rows that may be removed."""
FUNCTION = """
CREATE FUNCTION {0}_archived() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN
    IF EXISTS (SELECT FROM gone WHERE NOT id {1}) THEN RAISE EXCEPTION '{0} is append only'; END IF;
    RETURN NULL;
END $$
"""
KEPT = {"state_event": ("state_event_append_only",) * 2, "event_seal": ("event_seal_kept", "kept_for_ever")}
"""PostgreSQL's trigger of a table, and its function."""


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    text = sa.Text(collation="C") if dialect == "postgresql" else sa.Text()
    op.create_table(
        "history_archive",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.String(64, collation="C") if dialect == "postgresql" else sa.String(64), nullable=False),
        *(sa.Column(name, text, nullable=False) for name in ("at", "since", "directory", "who")),
        sa.PrimaryKeyConstraint("id", name="pk_history_archive"),
    )
    if dialect == "postgresql":
        op.execute(
            "CREATE TRIGGER history_archive_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON history_archive "
            "FOR EACH STATEMENT EXECUTE FUNCTION kept_for_ever()"
        )
        for table, rows in MAY_GO:
            keep(table, "UPDATE OR TRUNCATE")
            op.execute(FUNCTION.format(table, rows))
            op.execute(
                f"CREATE TRIGGER {table}_archived AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone "
                f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_archived()"
            )
        return
    for verb in ("UPDATE", "DELETE"):
        refuse = REFUSE.format("history_archive")
        op.execute(
            f"CREATE TRIGGER history_archive_no_{verb.lower()} BEFORE {verb} ON history_archive BEGIN {refuse}; END"
        )
    for table, rows in MAY_GO:
        refuse_on_sqlite(table, f"WHEN NOT OLD.id {rows} ")


def downgrade() -> None:
    for table, _ in MAY_GO:
        if op.get_context().dialect.name == "postgresql":
            op.execute(f"DROP FUNCTION {table}_archived CASCADE")
            keep(table, "UPDATE OR DELETE OR TRUNCATE")
        else:
            refuse_on_sqlite(table, "")
    op.drop_table("history_archive")


def keep(table: str, verbs: str) -> None:
    trigger, function = KEPT[table]
    op.execute(f"DROP TRIGGER {trigger} ON {table}")
    op.execute(f"CREATE TRIGGER {trigger} BEFORE {verbs} ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {function}()")


def refuse_on_sqlite(table: str, when: str) -> None:
    op.execute(f"DROP TRIGGER {table}_no_delete")
    op.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {when}BEGIN {REFUSE.format(table)}; END")
