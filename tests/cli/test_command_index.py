"""Commands and their descriptions are read from parts of source files, and are those of the whole files."""

import re
from itertools import chain

import pytest

from trninv.cli import command_index


def _read_all() -> dict[str, dict[str, str]]:
    folders = (command_index._CLI_DIRECTORY, *command_index._DECLARATION_DIRECTORIES)
    files = chain.from_iterable(folder.glob("*.py") for folder in folders)
    return {str(file): dict(command_index._read_declarations(file)) for file in files}


def test_declarations_are_those_of_whole_files(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _read_all()
    monkeypatch.setattr(command_index, "_DECLARATION", re.compile(".+", re.DOTALL))
    assert _read_all() == found
    assert sum(map(len, found.values())) > len(command_index._DECLARATION_DIRECTORIES)
