"""Whether a target of discovery is late: the service says it, by one clock."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

import trninv
from conftest import both_ways
from trninv.database.tables import TABLES
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql


def test_status_and_graphql_agree_on_what_is_late(tables: str) -> None:
    now = datetime.now(UTC)
    late_at = {"late": now, "soon": now + timedelta(minutes=1), "by hand": None, "failed": now - timedelta(days=1)}
    rows = [
        {
            "id": number,
            "target": target,
            "started_at": format_timestamp(now),
            "late_at": time and format_timestamp(time),
            "error": "no answer" if target == "failed" else None,
        }
        for number, (target, time) in enumerate(late_at.items(), 1)
    ]
    with trninv.open(tables) as fleet:
        with fleet.engine.begin() as connection:
            connection.execute(insert(TABLES["discovery"]), rows)
        answer = both_ways(fleet)(
            "{ discoveries { nodes { target late } } late: discoveries(filter: { late: { eq: true } }) { totalCount } }"
        )["data"]
        is_late = {node["target"]: node["late"] for node in answer["discoveries"]["nodes"]}
        assert is_late == {"late": True, "soon": False, "by hand": False, "failed": True}
        assert answer["late"]["totalCount"] == 2
        states = {row["target"]: row["state"] for row in fleet.contents().discoveries}
        assert states == {"late": "late", "soon": "ok", "by hand": "ok", "failed": "late; no answer"}
