"""What incidents cost a database: by what is not up, and not by what there is."""

import re
from typing import Any

import pytest
from sqlalchemy import event, text

import trninv
from conftest import Databases, wear
from trninv.database.tables import NODE_KINDS


@pytest.mark.slow
def test_postgresql_reads_no_whole_tables_of_nodes(databases: Databases) -> None:
    url, sent = databases.seeded("postgresql"), list[tuple[str, Any]]()
    wear(url)
    with trninv.open(url) as fleet:
        event.listen(fleet.engine, "before_cursor_execute", lambda *given: sent.append(given[2:4]))
        assert fleet.incidents()
        asked = [each for each in sent if "LEFT OUTER JOIN nic" in each[0]]
        with fleet.connect() as connection:
            connection.execute(text("SET LOCAL enable_seqscan = off"))  # as if the tables had many pages
            connection.execute(text("SET LOCAL enable_nestloop = off"))  # as if there were many ids
            plans = [
                "\n".join(connection.exec_driver_sql(f"EXPLAIN {query}", given).scalars()) for query, given in asked
            ]
    assert plans
    for plan in plans:
        found = re.findall(r"Scan.* on (\w+) .*\n +(?:Index|Recheck) Cond: ", plan)
        assert {"node", *NODE_KINDS} <= set(found), plan
