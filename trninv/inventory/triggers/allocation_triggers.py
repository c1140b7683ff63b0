# ruff: noqa: S608 # statements contain only our own names
"""Declare the triggers that keep the bits of allocated chips."""

from collections.abc import Iterator
from typing import Final

from trninv.database.tables import BITMASK_WORDS
from trninv.inventory.triggers.declaration import Function, Trigger

_BIT: Final = """SELECT server.domain_id AS id, server.ordinal * server_model.chips + chip.ordinal AS bit
    FROM {rows} AS changed
    JOIN chip ON chip.id = changed.chip_id
    JOIN server ON server.id = chip.server_id
    JOIN server_model ON server_model.id = server.server_model_id
    WHERE changed.ended_at IS NULL"""
"""Selects domain and bit of the allocated chips among changed rows."""
_NAMES: Final = ", ".join(f"allocated_{word}" for word in range(BITMASK_WORDS))
_EMPTY: Final = " AND ".join(f"domain_allocated.allocated_{word} = 0" for word in range(BITMASK_WORDS))


def allocation_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers of a dialect."""
    yield from (_in_sqlite() if dialect == "sqlite" else _in_postgresql())


def _join_words(template: str) -> str:
    return ", ".join(template.format(w=word) for word in range(BITMASK_WORDS))


def _word(word: int, bit: str = "bit") -> str:
    low = 64 * word
    return f"CASE WHEN {bit} BETWEEN {low} AND {low + 63} THEN CAST(1 AS BIGINT) << ({bit} - {low}) ELSE 0 END"


def _in_sqlite() -> Iterator[Trigger]:
    words = ", ".join(map(_word, range(BITMASK_WORDS)))
    merged_words = _join_words("allocated_{w} = allocated_{w} | excluded.allocated_{w}")
    set_bits = f"""
    INSERT INTO domain_allocated (id, {_NAMES})
    SELECT id, {words} FROM ({_BIT.format(rows="(SELECT new.chip_id, new.ended_at)")})
    WHERE true ON CONFLICT (id) DO UPDATE SET {merged_words};"""
    domain = "(SELECT server.domain_id FROM chip JOIN server ON server.id = chip.server_id WHERE chip.id = old.chip_id)"
    bit = f"(SELECT bit FROM ({_BIT.format(rows='(SELECT old.chip_id, old.ended_at)')}))"
    cleared_words = ", ".join(
        f"allocated_{word} = allocated_{word} & ~{_word(word, bit)}" for word in range(BITMASK_WORDS)
    )
    clear_bits = f"""
    UPDATE domain_allocated SET {cleared_words} WHERE old.ended_at IS NULL AND id = {domain};
    DELETE FROM domain_allocated WHERE {_EMPTY} AND old.ended_at IS NULL AND id = {domain};"""
    for verb, name, body in (
        ("AFTER INSERT", "inserted", set_bits),
        ("AFTER DELETE", "deleted", clear_bits),
        ("AFTER UPDATE OF chip_id, ended_at", "updated", clear_bits + set_bits),
    ):
        yield Trigger.lite(f"allocation_{name}", "allocation", verb, body)


def _in_postgresql() -> Iterator[Trigger]:
    words = ", ".join(f"bit_or({_word(word)}) AS allocated_{word}" for word in range(BITMASK_WORDS))
    cleared_words = _join_words("allocated_{w} = domain_allocated.allocated_{w} & ~given.allocated_{w}")
    merged_words = _join_words("allocated_{w} = domain_allocated.allocated_{w} | excluded.allocated_{w}")
    follow = f""" BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        UPDATE domain_allocated SET {cleared_words}
        FROM (SELECT id, {words} FROM ({_BIT.format(rows="gone")}) AS bits GROUP BY id) AS given
        WHERE domain_allocated.id = given.id;
        DELETE FROM domain_allocated USING ({_BIT.format(rows="gone")}) AS given
        WHERE domain_allocated.id = given.id AND {_EMPTY};
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        INSERT INTO domain_allocated (id, {_NAMES})
        SELECT id, {words} FROM ({_BIT.format(rows="come")}) AS bits GROUP BY id ORDER BY id
        ON CONFLICT (id) DO UPDATE SET {merged_words};
    END IF;
    RETURN NULL;
END """
    for verb, name, tables in (
        ("INSERT", "inserted", "NEW TABLE AS come"),
        ("UPDATE", "updated", "OLD TABLE AS gone NEW TABLE AS come"),
        ("DELETE", "deleted", "OLD TABLE AS gone"),
    ):
        function = Function("follow_allocations", follow)
        yield Trigger.statement_level(f"allocation_{name}", "allocation", f"AFTER {verb}", function, tables=tables)
    # restoring a dump inserts these rows too, after triggers have already created them
    merge = f""" BEGIN
    UPDATE domain_allocated SET {_join_words("allocated_{w} = allocated_{w} | new.allocated_{w}")} WHERE id = new.id;
    IF FOUND THEN RETURN NULL; END IF;
    RETURN new;
END """
    yield Trigger.row_level(
        "domain_allocated_merged", "domain_allocated", "BEFORE INSERT", Function("merge_allocated", merge)
    )
