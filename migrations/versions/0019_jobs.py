"""Jobs and the chips that they hold, servers that take no new ones, and the sets that schedulers grant.

Revision ID: 0019
Revises: 0018
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

TABLES = ("legal_set", "job", "allocation", "closing", "domain_held")
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WORDS = range(3)

BIT = """SELECT server.domain_id AS id, server.ordinal * server_model.chips + chip.ordinal AS bit
    FROM {rows} AS changed
    JOIN chip ON chip.id = changed.chip_id
    JOIN server ON server.id = chip.server_id
    JOIN server_model ON server_model.id = server.server_model_id
    WHERE changed.ended IS NULL"""
"""Domain and bit of the chips among some rows that are held."""


def upgrade() -> None:
    _make(
        "legal_set",
        sa.Column("domain_model_id", sa.Integer(), nullable=False),
        _text("unit"),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("mask", BIG, nullable=True),
        sa.CheckConstraint("unit IN ('chip', 'server')", name="unit"),
        sa.CheckConstraint("size > 0", name="size"),
        sa.CheckConstraint("ordinal >= 0", name="ordinal"),
        sa.UniqueConstraint(
            "domain_model_id", "unit", "size", "ordinal", name="uq_legal_set_domain_model_id_unit_size_ordinal"
        ),
        _of("legal_set", "domain_model"),
    )
    _make(
        "job",
        sa.Column("cluster_id", sa.Integer(), nullable=False),
        *map(_text, ("name", "system", "external_id")),
        _text("submitted", required=False),
        _text("began"),
        _text("ended", required=False),
        sa.Column("priority", sa.Integer(), nullable=True),
        sa.Column("pinned", sa.Integer(), server_default="0", nullable=False),
        _text("who"),
        sa.CheckConstraint("pinned IN (0, 1)", name="pinned"),
        _of("job", "cluster"),
    )
    _make(
        "allocation",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("chip_id", sa.Integer(), nullable=False),
        _text("role"),
        _text("began"),
        _text("ended", required=False),
        sa.CheckConstraint("role IN ('work', 'spare')", name="role"),
        _of("allocation", "job"),
        _of("allocation", "chip"),
    )
    _make(
        "closing",
        sa.Column("server_id", sa.Integer(), nullable=False),
        _text("since"),
        _text("until", required=False),
        _text("who"),
        _text("why"),
        _of("closing", "server"),
    )
    _make(
        "domain_held",
        *(sa.Column(f"held_{word}", BIG, nullable=False) for word in WORDS),
        sa.ForeignKeyConstraint(["id"], ["domain.id"], name="fk_domain_held_id"),
    )
    op.create_index("ix_job_cluster_id", "job", ["cluster_id"])
    op.create_index("ix_allocation_job_id", "allocation", ["job_id"])
    for table, columns, ended in (
        ("job", ["system", "external_id"], "ended"),
        ("allocation", ["chip_id"], "ended"),
        ("closing", ["server_id"], "until"),
    ):
        now = sa.text(f"{ended} IS NULL")
        name = f"uq_{table}_{'_'.join(columns)}_now"
        op.create_index(name, table, columns, unique=True, sqlite_where=now, postgresql_where=now)
    (_follow_on_postgresql if op.get_context().dialect.name == "postgresql" else _follow_on_sqlite)()


def _make(table: str, *parts: Any) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *parts,
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
        sqlite_strict=True,
    )


def _text(name: str, *, required: bool = True) -> sa.Column[str]:
    return sa.Column(name, sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=not required)


def _of(table: str, parent: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([f"{parent}_id"], [f"{parent}.id"], name=f"fk_{table}_{parent}_id")


def _word(word: int, bit: str = "bit") -> str:
    low = 64 * word
    return f"CASE WHEN {bit} BETWEEN {low} AND {low + 63} THEN CAST(1 AS BIGINT) << ({bit} - {low}) ELSE 0 END"


def _follow_on_sqlite() -> None:
    names = ", ".join(f"held_{word}" for word in WORDS)
    taken = f"""
        INSERT INTO domain_held (id, {names})
        SELECT id, {", ".join(map(_word, WORDS))} FROM ({BIT.format(rows="(SELECT new.chip_id, new.ended)")}) WHERE true
        ON CONFLICT (id) DO UPDATE SET {", ".join(f"held_{w} = held_{w} | excluded.held_{w}" for w in WORDS)};"""
    domain = "(SELECT server.domain_id FROM chip JOIN server ON server.id = chip.server_id WHERE chip.id = old.chip_id)"
    bit = f"(SELECT bit FROM ({BIT.format(rows='(SELECT old.chip_id, old.ended)')}))"
    given = f"""
        UPDATE domain_held SET {", ".join(f"held_{w} = held_{w} & ~{_word(w, bit)}" for w in WORDS)}
        WHERE old.ended IS NULL AND id = {domain};
        DELETE FROM domain_held
        WHERE {" AND ".join(f"held_{w} = 0" for w in WORDS)} AND old.ended IS NULL AND id = {domain};"""
    op.execute(f"CREATE TRIGGER allocation_held_insert AFTER INSERT ON allocation BEGIN {taken} END")
    op.execute(f"CREATE TRIGGER allocation_held_delete AFTER DELETE ON allocation BEGIN {given} END")
    op.execute(
        f"CREATE TRIGGER allocation_held_update AFTER UPDATE OF chip_id, ended ON allocation BEGIN {given} {taken} END"
    )


def _follow_on_postgresql() -> None:
    words = ", ".join(f"bit_or({_word(word)}) AS held_{word}" for word in WORDS)
    names = ", ".join(f"held_{word}" for word in WORDS)
    op.execute(f"""
CREATE FUNCTION domain_held_follows() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        UPDATE domain_held SET {", ".join(f"held_{w} = domain_held.held_{w} & ~given.held_{w}" for w in WORDS)}
        FROM (SELECT id, {words} FROM ({BIT.format(rows="gone")}) AS bits GROUP BY id) AS given
        WHERE domain_held.id = given.id;
        DELETE FROM domain_held
        USING ({BIT.format(rows="gone")}) AS given
        WHERE domain_held.id = given.id AND {" AND ".join(f"domain_held.held_{w} = 0" for w in WORDS)};
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        INSERT INTO domain_held (id, {names})
        SELECT id, {words} FROM ({BIT.format(rows="come")}) AS bits GROUP BY id ORDER BY id
        ON CONFLICT (id) DO UPDATE
        SET {", ".join(f"held_{w} = domain_held.held_{w} | excluded.held_{w}" for w in WORDS)};
    END IF;
    RETURN NULL;
END $$""")
    # a dump that is read back brings the words as well, after triggers have made them
    op.execute(f"""
CREATE FUNCTION domain_held_merges() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
    UPDATE domain_held SET {", ".join(f"held_{w} = held_{w} | new.held_{w}" for w in WORDS)} WHERE id = new.id;
    IF FOUND THEN RETURN NULL; END IF;
    RETURN new;
END $$""")
    op.execute(
        "CREATE TRIGGER domain_held_merge BEFORE INSERT ON domain_held "
        "FOR EACH ROW EXECUTE FUNCTION domain_held_merges()"
    )
    for verb, tables in (
        ("INSERT", "NEW TABLE AS come"),
        ("UPDATE", "OLD TABLE AS gone NEW TABLE AS come"),
        ("DELETE", "OLD TABLE AS gone"),
    ):
        op.execute(
            f"CREATE TRIGGER allocation_held_{verb.lower()} AFTER {verb} ON allocation REFERENCING {tables} "
            "FOR EACH STATEMENT EXECUTE FUNCTION domain_held_follows()"
        )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION domain_held_follows, domain_held_merges")
