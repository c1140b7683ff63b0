"""The tables refuse impossible rows."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError


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
