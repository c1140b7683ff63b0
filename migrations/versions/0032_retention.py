"""Observations that newer ones of the same machine have superseded may go; a token of scope observe has a quota.

Revision ID: 0032
Revises: 0028
"""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0028"

NEWEST = 100
"""Observations of a speaker that never go."""
LASTING = "id, at, source, name, sha256, taken_at, is_whole, servers, chips"
"""Columns of an observation that never changed, as revision 0013 has them."""
LATER = "SELECT later.id FROM observation AS later WHERE later.source = {row}.source AND later.speaker = {row}.speaker"
PART = "NOT EXISTS (SELECT * FROM {parent} AS parent WHERE parent.id = {{row}}.{parent}_id)"
MAY_GO = {
    "observation": f"""{{row}}.speaker IS NOT NULL AND NOT {{row}}.is_cited
    AND EXISTS ({LATER} AND later.id > {{row}}.id)
    AND (SELECT count(*) FROM ({LATER} AND (later.seen_at, later.id) > ({{row}}.seen_at, {{row}}.id)
        LIMIT {NEWEST}) AS newest) = {NEWEST}""",
    "observed_server": PART.format(parent="observation"),
    "observed_chip": PART.format(parent="observed_server"),
    "observed_link": PART.format(parent="observation"),
}
"""Which rows may be deleted: superseded observations, and then what they said."""
CITED = {
    "sqlite": "SELECT value FROM {source}json_each('[' || replace({evidence}, ' ', ',') || ']')",
    "postgresql": "SELECT CAST(unnest(string_to_array({evidence}, ' ')) AS bigint) FROM {source}",
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
    if dialect == "sqlite":
        op.execute("DROP TRIGGER observation_no_update")
    op.execute(f"UPDATE observation SET speaker = ({named}) WHERE servers = 1 AND source LIKE 'neuron-%'")
    cited = CITED[dialect].format(source=_FINDINGS[dialect], evidence="evidence")
    op.execute(f"UPDATE observation SET is_cited = true WHERE id IN ({cited})")
    for statement in _on_sqlite() if dialect == "sqlite" else _on_postgresql():
        op.execute(statement)


_FINDINGS = {"sqlite": "finding, ", "postgresql": "finding"}


def _on_sqlite() -> Iterator[str]:
    for table, may_go in MAY_GO.items():
        yield f"DROP TRIGGER {table}_no_delete"
        condition = may_go.format(row="OLD")
        yield f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} WHEN NOT ({condition}) {_refuse(table)}"
    yield _no_update_on_sqlite(f"{LASTING}, speaker")
    yield (
        "CREATE TRIGGER observation_stays_cited BEFORE UPDATE OF is_cited ON observation "
        f"WHEN OLD.is_cited AND NOT NEW.is_cited {_refuse('observation')}"
    )
    cited = CITED["sqlite"].format(source="", evidence="NEW.evidence")
    yield (
        "CREATE TRIGGER finding_cites AFTER INSERT ON finding WHEN NEW.evidence IS NOT NULL "
        f"BEGIN UPDATE observation SET is_cited = true WHERE NOT is_cited AND id IN ({cited}); END"
    )


def _refuse(table: str) -> str:
    return f"BEGIN SELECT RAISE(ABORT, '{table} is append only'); END"


def _no_update_on_sqlite(columns: str) -> str:
    return f"CREATE TRIGGER observation_no_update BEFORE UPDATE OF {columns} ON observation {_refuse('observation')}"


def _on_postgresql() -> Iterator[str]:
    for table, may_go in MAY_GO.items():
        columns = f" OF {LASTING}, speaker" if table == "observation" else ""
        yield from _kept_on_postgresql(table, f"UPDATE{columns} OR TRUNCATE")
        yield f"""
CREATE FUNCTION {table}_superseded() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN
    IF EXISTS (SELECT FROM gone WHERE NOT ({may_go.format(row="gone")})) THEN
        RAISE EXCEPTION '{table} is append only';
    END IF;
    RETURN NULL;
END $$"""
        yield (
            f"CREATE TRIGGER {table}_superseded AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_superseded()"
        )
    yield (
        "CREATE TRIGGER observation_stays_cited BEFORE UPDATE OF is_cited ON observation "
        "FOR EACH ROW WHEN (OLD.is_cited AND NOT NEW.is_cited) EXECUTE FUNCTION kept_for_ever()"
    )
    yield f"""
CREATE FUNCTION finding_cites() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE observation SET is_cited = true
        WHERE NOT is_cited AND id IN ({CITED["postgresql"].format(source="made", evidence="evidence")});
    RETURN NULL;
END $$"""
    yield (
        "CREATE TRIGGER finding_cites AFTER INSERT ON finding REFERENCING NEW TABLE AS made "
        "FOR EACH STATEMENT EXECUTE FUNCTION finding_cites()"
    )


def _kept_on_postgresql(table: str, verbs: str) -> Iterator[str]:
    yield f"DROP TRIGGER {table}_kept ON {table}"
    refuse = "FOR EACH STATEMENT EXECUTE FUNCTION kept_for_ever()"
    yield f"CREATE TRIGGER {table}_kept BEFORE {verbs} ON {table} {refuse}"


def downgrade() -> None:
    """Which observations went is not recorded: they stay gone."""
    is_lite = op.get_context().dialect.name == "sqlite"
    if is_lite:
        for name in ("finding_cites", "observation_stays_cited", "observation_no_update"):
            op.execute(f"DROP TRIGGER {name}")
        op.execute(_no_update_on_sqlite(LASTING))
    else:
        op.execute("DROP TRIGGER observation_stays_cited ON observation")
        op.execute("DROP FUNCTION finding_cites CASCADE")
    for table in MAY_GO:
        if is_lite:
            op.execute(f"DROP TRIGGER {table}_no_delete")
            op.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {_refuse(table)}")
            continue
        op.execute(f"DROP FUNCTION {table}_superseded CASCADE")
        columns = f" OF {LASTING}" if table == "observation" else ""
        for statement in _kept_on_postgresql(table, f"UPDATE{columns} OR DELETE OR TRUNCATE"):
            op.execute(statement)
    op.drop_index("ix_observation_speaker", "observation")
    for column in ("quota_bytes", "quota_rows", "quota_hour"):
        op.drop_column("token", column)
    for column in ("is_cited", "speaker"):
        op.drop_column("observation", column)
