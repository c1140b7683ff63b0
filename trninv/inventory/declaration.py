"""What a trigger is declared as: the text that creates it, which is also what the database must say of it."""

import re
from dataclasses import dataclass
from typing import Final

_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of PostgreSQL that a trigger calls.

    Attributes
    ----------
    sees_change
        Whether it runs with its owner's rights, since others may not read ``_change``.

    """

    name: str
    body: str
    sees_change: bool = False

    @property
    def statement(self) -> str:
        """The statement that creates it."""
        rights = " SECURITY DEFINER" if self.sees_change else ""
        head = f"CREATE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql{rights} SET search_path FROM CURRENT"
        return f"{head}\nAS $${self.body}$$"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger of one database: its name, its table, the statement that creates it, and what it calls.

    PostgreSQL's statements are written as ``pg_get_triggerdef`` prints them.
    """

    name: str
    table: str
    statement: str
    function: Function | None = None

    @classmethod
    def lite(cls, name: str, table: str, when: str, body: str) -> "Trigger":
        """A trigger of SQLite; ``when`` is what stands before ON, and the condition after it, if any, past a bar."""
        verb, _, condition = when.partition(" | ")
        test = f"\nWHEN {condition}" if condition else ""
        return cls(name, table, f"CREATE TRIGGER {name} {verb} ON {table}{test}\nBEGIN\n    {body.strip()}\nEND")

    @classmethod
    def statement_level(
        cls, name: str, table: str, verb: str, function: Function, *arguments: str, tables: str = ""
    ) -> "Trigger":
        """A trigger of PostgreSQL that runs once a statement."""
        rows = f" REFERENCING {tables}" if tables else ""
        called = _call(function, arguments)
        text = f"CREATE TRIGGER {name} {verb} ON {table}{rows} FOR EACH STATEMENT EXECUTE FUNCTION {called}"
        return cls(name, table, text, function)

    @classmethod
    def row_level(
        cls, name: str, table: str, verb: str, function: Function, *arguments: str, when: str = ""
    ) -> "Trigger":
        """A trigger of PostgreSQL that runs once a row."""
        test = f" WHEN ({when})" if when else ""
        called = _call(function, arguments)
        text = f"CREATE TRIGGER {name} {verb} ON {table} FOR EACH ROW{test} EXECUTE FUNCTION {called}"
        return cls(name, table, text, function)


def _call(function: Function, arguments: tuple[str, ...]) -> str:
    quoted = ", ".join(f"'{argument}'" for argument in arguments)
    return f"{function.name}({quoted})"


def same_text(one: str, other: str) -> bool:
    """Return whether two statements differ in nothing but blanks."""
    return _BLANKS.sub(" ", one).strip() == _BLANKS.sub(" ", other).strip()
