# ruff: noqa: S608 # statements contain only our own names
"""Declare the triggers that keep the bits of allocated chips."""

from collections.abc import Iterator
from typing import Final

from trninv.database.allocation_bits import BITMASK_WORDS
from trninv.inventory.triggers.declaration import Function, Trigger

_BIT: Final = """SELECT server.domain_id AS id, server.ordinal * server_model.chips + chip.ordinal AS bit
    FROM {rows} AS changed
    JOIN chip ON chip.id = changed.chip_id
    JOIN server ON server.id = chip.server_id
    JOIN server_model ON server_model.id = server.server_model_id
    WHERE changed.ended IS NULL"""
"""Selects domain and bit of the allocated chips among changed rows."""
_NAMES: Final = ", ".join(f"held_{word}" for word in range(BITMASK_WORDS))
_EMPTY: Final = " AND ".join(f"domain_held.held_{word} = 0" for word in range(BITMASK_WORDS))


def held_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers of a dialect."""
    yield from (_in_sqlite() if dialect == "sqlite" else _in_postgresql())


def _join_words(template: str) -> str:
    return ", ".join(template.format(w=word) for word in range(BITMASK_WORDS))


def _word(word: int, bit: str = "bit") -> str:
    low = 64 * word
    return f"CASE WHEN {bit} BETWEEN {low} AND {low + 63} THEN CAST(1 AS BIGINT) << ({bit} - {low}) ELSE 0 END"


def _in_sqlite() -> Iterator[Trigger]:
    words = ", ".join(map(_word, range(BITMASK_WORDS)))
    set_bits = f"""
    INSERT INTO domain_held (id, {_NAMES})
    SELECT id, {words} FROM ({_BIT.format(rows="(SELECT new.chip_id, new.ended)")})
    WHERE true ON CONFLICT (id) DO UPDATE SET {_join_words("held_{w} = held_{w} | excluded.held_{w}")};"""
    domain = "(SELECT server.domain_id FROM chip JOIN server ON server.id = chip.server_id WHERE chip.id = old.chip_id)"
    bit = f"(SELECT bit FROM ({_BIT.format(rows='(SELECT old.chip_id, old.ended)')}))"
    cleared_words = ", ".join(f"held_{word} = held_{word} & ~{_word(word, bit)}" for word in range(BITMASK_WORDS))
    clear_bits = f"""
    UPDATE domain_held SET {cleared_words} WHERE old.ended IS NULL AND id = {domain};
    DELETE FROM domain_held WHERE {_EMPTY} AND old.ended IS NULL AND id = {domain};"""
    for verb, name, body in (
        ("AFTER INSERT", "inserted", set_bits),
        ("AFTER DELETE", "deleted", clear_bits),
        ("AFTER UPDATE OF chip_id, ended", "updated", clear_bits + set_bits),
    ):
        yield Trigger.lite(f"allocation_{name}", "allocation", verb, body)


def _in_postgresql() -> Iterator[Trigger]:
    words = ", ".join(f"bit_or({_word(word)}) AS held_{word}" for word in range(BITMASK_WORDS))
    follow = f""" BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        UPDATE domain_held SET {_join_words("held_{w} = domain_held.held_{w} & ~given.held_{w}")}
        FROM (SELECT id, {words} FROM ({_BIT.format(rows="gone")}) AS bits GROUP BY id) AS given
        WHERE domain_held.id = given.id;
        DELETE FROM domain_held USING ({_BIT.format(rows="gone")}) AS given
        WHERE domain_held.id = given.id AND {_EMPTY};
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        INSERT INTO domain_held (id, {_NAMES})
        SELECT id, {words} FROM ({_BIT.format(rows="come")}) AS bits GROUP BY id ORDER BY id
        ON CONFLICT (id) DO UPDATE SET {_join_words("held_{w} = domain_held.held_{w} | excluded.held_{w}")};
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
    UPDATE domain_held SET {_join_words("held_{w} = held_{w} | new.held_{w}")} WHERE id = new.id;
    IF FOUND THEN RETURN NULL; END IF;
    RETURN new;
END """
    yield Trigger.row_level("domain_held_merged", "domain_held", "BEFORE INSERT", Function("merge_held", merge))
