# ruff: noqa: SLF001 # revisions that were released are not edited
"""All triggers are declared in trninv.inventory.triggers.registry; the triggers of older revisions go.

Revision ID: 0029
Revises: 0028
"""

from typing import Any

from alembic import context, op

revision = "0029"
down_revision = "0028"

APPEND_ONLY = ("state_event", "event_seal", "history_archive")
OBSERVED = ("observation", "observed_server", "observed_chip", "observed_link")
TABLES = (*APPEND_ONLY, "history_start", *OBSERVED, "binding", "finding")
ON_SQLITE = (
    *(f"{table}_no_{verb}" for table in TABLES for verb in ("update", "delete")),
    *("binding_closed", "finding_closed"),
    *(f"allocation_held_{verb}" for verb in ("insert", "update", "delete")),
)
ON_POSTGRESQL = (
    *("kept_for_ever", "state_event_append_only", "state_event_archived", "event_seal_archived"),
    *("history_start_superseded", "domain_held_follows", "domain_held_merges"),
)
"""Functions, whose triggers go with them."""


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        for function in ON_POSTGRESQL:
            op.execute(f"DROP FUNCTION IF EXISTS {function} CASCADE")
        return
    for trigger in ON_SQLITE:
        op.execute(f"DROP TRIGGER IF EXISTS {trigger}")


def downgrade() -> None:
    """Create them as the revisions did that are named here."""
    state, observation, binding, jobs, archive, starts = map(
        _revision, ("0003", "0013", "0015", "0019", "0020", "0028")
    )
    is_postgresql = op.get_context().dialect.name == "postgresql"
    observation._keep()
    for statement in starts._keeping(is_lite=not is_postgresql):
        op.execute(statement)
    for change in ((table, columns, f"OLD.{closed} IS NOT NULL") for table, columns, closed in binding.CHANGES):
        binding._keep(*change)
    if is_postgresql:
        op.execute(state.FUNCTION)
        for table, function in (("state_event", "state_event_append_only"), ("event_seal", "kept_for_ever")):
            name = archive.KEPT[table][0]
            refuse = f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
            op.execute(f"CREATE TRIGGER {name} BEFORE UPDATE OR TRUNCATE ON {table} {refuse}")
        op.execute(
            "CREATE TRIGGER history_archive_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON history_archive "
            "FOR EACH STATEMENT EXECUTE FUNCTION kept_for_ever()"
        )
        for table, rows in archive.MAY_GO:
            op.execute(archive.FUNCTION.format(table, rows))
            op.execute(
                f"CREATE TRIGGER {table}_archived AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone "
                f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_archived()"
            )
        jobs._follow_on_postgresql()
        return
    may_go = {table: f"WHEN NOT OLD.id {rows} " for table, rows in archive.MAY_GO}
    for table in APPEND_ONLY:
        refuse = f"BEGIN {archive.REFUSE.format(table)}; END"
        op.execute(f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}")
        op.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {may_go.get(table, '')}{refuse}")
    jobs._follow_on_sqlite()


def _revision(name: str) -> Any:
    script: Any = context.script
    return script.get_revision(name).module
