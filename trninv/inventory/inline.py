"""Pass rows inside a statement, for standbys of PostgreSQL, where no temporary table can be created."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import CTE, JSON, Connection, Table, Text, cast, column, func, literal, select


def is_read_only(connection: Connection) -> bool:
    """Return whether not even a temporary table can be created, as on a standby."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"


def rows_as_cte(table: Table, rows: Sequence[Mapping[str, Any]]) -> CTE:
    """Return rows as a CTE that a statement reads in place of a table that does not exist."""
    recordset = func.json_to_recordset(cast(literal(json.dumps(rows), Text), JSON))
    columns = (column(column_.name, column_.type) for column_ in table.c)
    return select(recordset.table_valued(*columns).render_derived(with_types=True)).cte(table.name)
