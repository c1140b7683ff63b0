"""Declare the triggers that limit who and why in plain SQL."""

from collections.abc import Iterator
from typing import Final

from trninv.inventory.state.author import MAX_LENGTH
from trninv.inventory.triggers.declaration import Function, Trigger

AUTHORS: Final = {
    "_change": ("who", "why"),
    "state_event": ("who", "why"),
    "history_archive": ("who",),
    "job": ("who",),
    "closing": ("who", "why"),
    "binding": ("who", "ended_by"),
}
"""Columns that say who changed something, and why, by table."""
_BODY: Final = f" BEGIN RAISE EXCEPTION '%: write at most {MAX_LENGTH:,} characters', TG_ARGV[0]; END "
_REFUSE: Final = Function("refuse_author", _BODY)


def author_triggers(dialect: str) -> Iterator[Trigger]:
    """Declare the triggers for new and changed rows; stored rows keep longer texts."""
    for table, columns in AUTHORS.items():
        names, written = ", ".join(columns), f"UPDATE OF {', '.join(columns)}"
        if dialect == "sqlite":
            refuse = f"SELECT RAISE(ABORT, '{names}: write at most {MAX_LENGTH:,} characters');"
            # length() counts up to the first character 0
            tests = (f"length(NEW.{name}) > {MAX_LENGTH} OR instr(NEW.{name}, char(0))" for name in columns)
            when = " OR ".join(tests)
            yield Trigger.lite(f"{table}_author_inserted", table, f"BEFORE INSERT | {when}", refuse)
            yield Trigger.lite(f"{table}_author_updated", table, f"BEFORE {written} | {when}", refuse)
            continue
        when = " OR ".join(f"length(new.{name}) > {MAX_LENGTH}" for name in columns)
        verb = f"BEFORE INSERT OR {written}"
        yield Trigger.row_level(f"{table}_author", table, verb, _REFUSE, names, when=when)
