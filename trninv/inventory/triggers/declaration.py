"""Represent a trigger as the SQL text that creates it.

The other modules of this package declare triggers with these classes. `trninv.inventory.triggers.registry` compares
their texts with those in the database: after any change of a text, even of an alias, databases need `trninv migrate`.
"""

import re
from dataclasses import dataclass
from typing import Final

_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Function:
    """A PostgreSQL function that a trigger calls.

    Attributes
    ----------
    sees_change
        Whether it runs with its owner's rights, because it reads ``_change`` or writes ``part_count``: users who may
        change a part need no rights for those tables.
    """

    name: str
    body: str
    sees_change: bool = False

    @property
    def statement(self) -> str:
        """The statement that creates the function."""
        rights = " SECURITY DEFINER" if self.sees_change else ""
        head = f"CREATE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql{rights} SET search_path FROM CURRENT"
        return f"{head}\nAS $${self.body}$$"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger of one dialect: name, table, creating statement and called function.

    PostgreSQL's statements are written as ``pg_get_triggerdef`` prints them.
    """

    name: str
    table: str
    statement: str
    function: Function | None = None

    @classmethod
    def in_sqlite(cls, name: str, table: str, when: str, body: str) -> "Trigger":
        """Declare a trigger of SQLite, which runs once per row.

        Parameters
        ----------
        when
            The text before ON, such as "AFTER INSERT"; a condition may follow after " | ".
        """
        verb, _, condition = when.partition(" | ")
        test = f"\nWHEN {condition}" if condition else ""
        return cls(name, table, f"CREATE TRIGGER {name} {verb} ON {table}{test}\nBEGIN\n    {body.strip()}\nEND")

    @classmethod
    def statement_level(
        cls, name: str, table: str, verb: str, function: Function, *arguments: str, tables: str = ""
    ) -> "Trigger":
        """Declare a trigger of PostgreSQL that runs once per statement.

        Parameters
        ----------
        tables
            The tables in which the function sees the changed rows, such as "OLD TABLE AS gone".
        """
        rows = f" REFERENCING {tables}" if tables else ""
        call = _call(function, arguments)
        text = f"CREATE TRIGGER {name} {verb} ON {table}{rows} FOR EACH STATEMENT EXECUTE FUNCTION {call}"
        return cls(name, table, text, function)

    @classmethod
    def row_level(
        cls, name: str, table: str, verb: str, function: Function, *arguments: str, when: str = ""
    ) -> "Trigger":
        """Declare a trigger of PostgreSQL that runs once per row."""
        test = f" WHEN ({when})" if when else ""
        call = _call(function, arguments)
        text = f"CREATE TRIGGER {name} {verb} ON {table} FOR EACH ROW{test} EXECUTE FUNCTION {call}"
        return cls(name, table, text, function)


def _call(function: Function, arguments: tuple[str, ...]) -> str:
    quoted = ", ".join(f"'{argument}'" for argument in arguments)
    return f"{function.name}({quoted})"


def same_text(one: str, other: str) -> bool:
    """Return whether two statements differ only in white space."""
    return _BLANKS.sub(" ", one).strip() == _BLANKS.sub(" ", other).strip()
