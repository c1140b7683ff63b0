"""The tables refuse impossible rows, and threads may share their aliases."""

import importlib
import pkgutil

import pytest
from sqlalchemy import AliasedReturnsRows, Engine, text
from sqlalchemy.exc import IntegrityError

import trninv


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE link SET bandwidth_bytes_per_s = 0 WHERE id = 1",
        "UPDATE link SET state = 'broken' WHERE id = 1",
        "UPDATE link SET scope = 'moon' WHERE id = 1",
        "UPDATE link SET a_id = b_id WHERE id = 1",
        "UPDATE link SET lanes = 0 WHERE id = 1",
        "UPDATE node SET kind = 'toaster' WHERE id = 1",
        "UPDATE chip SET ordinal = -1 WHERE id = 1",
        "UPDATE nic SET bandwidth_bytes_per_s = 0",
        "UPDATE cluster SET slug = 'u-trn2x64' WHERE slug = 'trn3-gen1'",
        "UPDATE server SET rack_id = 999999 WHERE id = 1",
        "UPDATE source SET kind = 'hearsay' WHERE id = 1",
        "DELETE FROM node WHERE id = 1",
        "DELETE FROM domain_model",
        "INSERT INTO core (id, chip_id, ordinal) VALUES (999999, 999999, 0)",
        "INSERT INTO core (id, chip_id, ordinal) SELECT 999999, chip_id, ordinal FROM core WHERE id = 1",
    ],
)
def test_a_constraint_refuses(engine: Engine, statement: str) -> None:
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(text(statement))


def test_an_alias_that_threads_share_has_its_columns() -> None:
    """Two threads that use it at first would otherwise make other columns each (`shared_alias`)."""
    names = [
        module.name for module in pkgutil.walk_packages(trninv.__path__, "trninv.") if "__main__" not in module.name
    ]
    shared = {
        f"{name}.{variable}": value
        for name in names
        for variable, value in vars(importlib.import_module(name)).items()
        if isinstance(value, AliasedReturnsRows)
    }
    assert "trninv.incidents.losses._END_A" in shared
    assert [name for name, alias in shared.items() if "c" not in vars(alias)] == []
