# ruff: noqa: S608 # statements contain only our own names
"""Declare the triggers that keep the bitmasks of allocated chips up to date, and that refuse overlapping reservations.

``domain_allocated`` has one row for each domain with allocated chips. Its columns ``allocated_0``, ``allocated_1``, …
are 64-bit words with one bit for each chip of the domain. In PostgreSQL's triggers, ``gone`` and ``come`` are the
changed rows of ``allocation`` before and after, and ``given`` are the bits to clear.
"""

from collections.abc import Iterator
from typing import Final

from trninv.database.tables import BITMASK_WORDS
from trninv.inventory.triggers.declaration import Function, Trigger

_ALLOCATED_BITS: Final = """SELECT server.domain_id AS id, server.ordinal * server_model.chips + chip.ordinal AS bit
    FROM {rows} AS changed
    JOIN chip ON chip.id = changed.chip_id
    JOIN server ON server.id = chip.server_id
    JOIN server_model ON server_model.id = server.server_model_id
    WHERE changed.ended_at IS NULL"""
"""Selects the domain and the number of the bit of each allocated chip among changed rows."""
_WORD_COLUMNS: Final = ", ".join(f"allocated_{word}" for word in range(BITMASK_WORDS))
_HAS_NO_BITS: Final = " AND ".join(f"domain_allocated.allocated_{word} = 0" for word in range(BITMASK_WORDS))
_RESERVED_TWICE: Final = "a chip is already reserved for a part of this time"
_IS_RESERVED_TWICE: Final = """EXISTS (
        SELECT * FROM {rows} JOIN reservation AS wanted ON wanted.id = made.reservation_id
        JOIN reserved_chip AS other ON other.chip_id = made.chip_id AND other.id <> made.id
        JOIN reservation AS earlier ON earlier.id = other.reservation_id
        WHERE wanted.ended_at IS NULL AND earlier.ended_at IS NULL
            AND earlier.from_at < wanted.until_at AND wanted.from_at < earlier.until_at)"""


def allocation_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the triggers of a dialect."""
    yield from (_in_sqlite() if dialect == "sqlite" else _in_postgresql())


def _for_all_words(template: str) -> str:
    return ", ".join(template.format(w=word) for word in range(BITMASK_WORDS))


def _mask(word: int, bit: str = "bit") -> str:
    """Return the SQL of a word in which only this bit is set, or 0 if the bit belongs to another word."""
    first = 64 * word
    return f"CASE WHEN {bit} BETWEEN {first} AND {first + 63} THEN CAST(1 AS BIGINT) << ({bit} - {first}) ELSE 0 END"


def _in_sqlite() -> Iterator[Trigger]:
    masks = ", ".join(map(_mask, range(BITMASK_WORDS)))
    merged_words = _for_all_words("allocated_{w} = allocated_{w} | excluded.allocated_{w}")
    set_bits = f"""
    INSERT INTO domain_allocated (id, {_WORD_COLUMNS})
    SELECT id, {masks} FROM ({_ALLOCATED_BITS.format(rows="(SELECT new.chip_id, new.ended_at)")})
    WHERE true ON CONFLICT (id) DO UPDATE SET {merged_words};"""
    domain = "(SELECT server.domain_id FROM chip JOIN server ON server.id = chip.server_id WHERE chip.id = old.chip_id)"
    bit = f"(SELECT bit FROM ({_ALLOCATED_BITS.format(rows='(SELECT old.chip_id, old.ended_at)')}))"
    cleared_words = ", ".join(
        f"allocated_{word} = allocated_{word} & ~{_mask(word, bit)}" for word in range(BITMASK_WORDS)
    )
    clear_bits = f"""
    UPDATE domain_allocated SET {cleared_words} WHERE old.ended_at IS NULL AND id = {domain};
    DELETE FROM domain_allocated WHERE {_HAS_NO_BITS} AND old.ended_at IS NULL AND id = {domain};"""
    for verb, name, body in (
        ("AFTER INSERT", "inserted", set_bits),
        ("AFTER DELETE", "deleted", clear_bits),
        ("AFTER UPDATE OF chip_id, ended_at", "updated", clear_bits + set_bits),
    ):
        yield Trigger.in_sqlite(f"allocation_{name}", "allocation", verb, body)


def _in_postgresql() -> Iterator[Trigger]:
    masks = ", ".join(f"bit_or({_mask(word)}) AS allocated_{word}" for word in range(BITMASK_WORDS))
    cleared_words = _for_all_words("allocated_{w} = domain_allocated.allocated_{w} & ~given.allocated_{w}")
    merged_words = _for_all_words("allocated_{w} = domain_allocated.allocated_{w} | excluded.allocated_{w}")
    body = f""" BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        UPDATE domain_allocated SET {cleared_words}
        FROM (SELECT id, {masks} FROM ({_ALLOCATED_BITS.format(rows="gone")}) AS bits GROUP BY id) AS given
        WHERE domain_allocated.id = given.id;
        DELETE FROM domain_allocated USING ({_ALLOCATED_BITS.format(rows="gone")}) AS given
        WHERE domain_allocated.id = given.id AND {_HAS_NO_BITS};
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        INSERT INTO domain_allocated (id, {_WORD_COLUMNS})
        SELECT id, {masks} FROM ({_ALLOCATED_BITS.format(rows="come")}) AS bits GROUP BY id ORDER BY id
        ON CONFLICT (id) DO UPDATE SET {merged_words};
    END IF;
    RETURN NULL;
END """
    for verb, name, tables in (
        ("INSERT", "inserted", "NEW TABLE AS come"),
        ("UPDATE", "updated", "OLD TABLE AS gone NEW TABLE AS come"),
        ("DELETE", "deleted", "OLD TABLE AS gone"),
    ):
        function = Function("follow_allocations", body)
        yield Trigger.statement_level(f"allocation_{name}", "allocation", f"AFTER {verb}", function, tables=tables)
    # a dump contains these rows too: restoring it inserts them after the triggers above have created them
    merge = f""" BEGIN
    UPDATE domain_allocated SET {_for_all_words("allocated_{w} = allocated_{w} | new.allocated_{w}")} WHERE id = new.id;
    IF FOUND THEN RETURN NULL; END IF;
    RETURN new;
END """
    yield Trigger.row_level(
        "domain_allocated_merged", "domain_allocated", "BEFORE INSERT", Function("merge_allocated", merge)
    )


def reservation_triggers(dialect: str) -> Iterator[Trigger]:
    """Yield the trigger of a dialect that refuses a chip that is reserved twice at a time.

    On PostgreSQL, writers wait for each other before the first row (`trninv.inventory.triggers.event_triggers`), so
    that the query sees every reservation that was committed before.
    """
    name = "reserved_once"
    if dialect == "sqlite":
        row = "(SELECT NEW.id AS id, NEW.reservation_id AS reservation_id, NEW.chip_id AS chip_id) AS made"
        body = f"SELECT RAISE(ABORT, '{_RESERVED_TWICE}') WHERE {_IS_RESERVED_TWICE.format(rows=row)};"
        yield Trigger.in_sqlite(name, "reserved_chip", "AFTER INSERT", body)
        return
    test = _IS_RESERVED_TWICE.format(rows="made")
    body = f""" BEGIN
    IF {test} THEN RAISE EXCEPTION '{_RESERVED_TWICE}' USING ERRCODE = 'unique_violation'; END IF;
    RETURN NULL;
END """
    function = Function(name, body)
    yield Trigger.statement_level(name, "reserved_chip", "AFTER INSERT", function, tables="NEW TABLE AS made")
