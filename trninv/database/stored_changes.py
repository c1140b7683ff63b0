"""Count the changes that this process has stored, for what a command says when Ctrl-C ends it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final


@dataclass
class StoredChanges:
    """What this process has stored.

    Attributes
    ----------
    count
        Number of transactions that were committed, here or by a service.
    is_storing
        Whether one is being committed, or a service did not answer: its outcome is unknown.

    """

    count: int = 0
    is_storing: bool = False

    @contextmanager
    def storing(self, unknown: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Count what the code in this context commits, unless it fails; after ``unknown`` errors it may have."""
        was_storing, self.is_storing = self.is_storing, True
        try:
            yield
        except unknown:
            raise
        except Exception:
            self.is_storing = was_storing
            raise
        self.count += 1
        self.is_storing = False

    def describe(self) -> str:
        """Return what became of the changes of a process that is interrupted."""
        if self.is_storing:
            return "the change was being stored; check whether it was stored before you repeat it"
        if self.count > 1:
            return f"{self.count:,} changes were already stored"
        return "the change was already stored" if self.count else "nothing in the database was changed"


STORED: Final = StoredChanges()
