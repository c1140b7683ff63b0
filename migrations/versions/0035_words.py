"""The evidence of inferred bindings, and an index, use the words of the glossary.

A binding that a person undid is not inferred again from the same evidence, so stored evidence has to read as it is
written today.

Revision ID: 0035
Revises: 0033
"""

import re

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"

GROUPS = ("UltraServer ", "capacity block ")
"""What the first part of a text begins with if it is a name, which may look like anything."""
NEW_WORDS = ((r"place (\d+)", r"position \1"), (r"(\S+) stands in (\S+)", r"\1 is in \2"))
OLD_WORDS = ((r"position (\d+)", r"place \1"), (r"(\S+) is in (\S+)", r"\1 stands in \2"))
BATCH = 5_000


def upgrade() -> None:
    _rename_index("lost", "unhealthy")
    _reword(NEW_WORDS)


def downgrade() -> None:
    _reword(OLD_WORDS)
    _rename_index("unhealthy", "lost")


def _rename_index(old: str, new: str) -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"ALTER INDEX ix_state_event_{old} RENAME TO ix_state_event_{new}")
        return
    columns = ["id", "previous_id", "kind", "part_id"]
    op.drop_index(f"ix_state_event_{old}", "state_event")
    op.create_index(f"ix_state_event_{new}", "state_event", columns, sqlite_where=sa.text("before <> 'up'"))


def _reword(words: tuple[tuple[str, str], ...]) -> None:
    """Replace words in all texts, in batches."""
    if op.get_context().as_sql:  # the script is for an empty database
        return
    connection, last = op.get_bind(), 0
    binding = sa.table("binding", sa.column("id", sa.Integer()), sa.column("evidence", sa.Text()))
    query = sa.select(binding).where(binding.c.evidence.is_not(None)).order_by(binding.c.id).limit(BATCH)
    update = sa.update(binding).where(binding.c.id == sa.bindparam("key")).values(evidence=sa.bindparam("text"))
    while rows := connection.execute(query.where(binding.c.id > last)).all():
        texts = [{"key": row.id, "text": _reworded(row.evidence, words)} for row in rows]
        if changed := [text for text, row in zip(texts, rows, strict=True) if text["text"] != row.evidence]:
            connection.execute(update, changed)
        last = rows[-1].id


def _reworded(evidence: str, words: tuple[tuple[str, str], ...]) -> str:
    first, *rest = evidence.split("; ")
    parts = [first] if first.startswith(GROUPS) else [_part(first, words)]
    return "; ".join([*parts, *(_part(part, words) for part in rest)])


def _part(part: str, words: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in words:
        if match := re.fullmatch(pattern, part):
            return match.expand(replacement)
    return part
