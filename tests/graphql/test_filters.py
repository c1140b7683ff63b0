"""Filters and orders of lists, compared with plain Python over plain SQL."""

from collections.abc import Mapping
from decimal import Decimal
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trninv
from conftest import Databases, both_ways, examples
from trninv.database.engine import read_transaction, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet

PLAIN = {
    "chips": """
        SELECT node.id, chip.ordinal, node.state, node.factor_ppm / 1000000.0 AS factor, generation,
            tray.ordinal AS tray, device_memory_bytes AS memory, device_memory_bandwidth_bytes_per_s AS memoryBandwidth,
            cluster.slug AS cluster
        FROM node JOIN chip ON chip.id = node.id JOIN chip_model ON chip_model.id = chip_model_id
        JOIN cluster ON cluster.id = node.cluster_id LEFT JOIN tray ON tray.id = tray_id
    """,
    "links": """
        SELECT link.id, link.state, link.factor_ppm / 1000000.0 AS factor, bandwidth_bytes_per_s AS nominal, lanes,
            cables, technology, scope, cluster.slug AS cluster
        FROM link JOIN node ON node.id = a_id JOIN cluster ON cluster.id = cluster_id
    """,
    "facts": """
        SELECT fact.id, subject, attribute, value AS exact, shown AS value, unit, quote, formula, disputed,
            preference = 0 AS picked, source.kind = 'assumed' AS assumed
        FROM fact JOIN source ON source.id = source_id
    """,
}
TEXT = ("eq", "ne", "lt", "lte", "gt", "gte", "contains", "containsIgnoreCase", "startsWith")
NUMBER = TEXT[:6]
FORMS = {
    "chips": {
        "ordinal": "number",
        "state": "enum",
        "factor": "number",
        "generation": "enum",
        "tray": "number",
        "memory": "bytes",
        "memoryBandwidth": "rate",
        "cluster": "address",
    },
    "links": {
        "state": "enum",
        "nominal": "rate",
        "lanes": "number",
        "cables": "number",
        "technology": "word",
        "scope": "enum",
        "cluster": "address",
    },
    "facts": {
        "subject": "word",
        "attribute": "word",
        "exact": "exact",
        "unit": "text",
        "quote": "text",
        "formula": "text",
        "disputed": "yes",
        "picked": "yes",
        "assumed": "yes",
    },
}
COMPARE: dict[str, Any] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "lt": lambda one, other: one < other,
    "lte": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "gte": lambda one, other: one >= other,
    "contains": lambda one, other: other in one,
    "containsIgnoreCase": lambda one, other: other.encode().lower() in one.encode().lower(),
    "startsWith": lambda one, other: one.startswith(other),
}
ROWS: dict[tuple[int, str], list[dict[str, Any]]] = {}


def rows_of(fleet: BaseFleet, kind: str) -> list[dict[str, Any]]:
    """Every row, as plain SQL gives it; names as in the schema whatever the database folds."""
    key = id(fleet), kind
    if key not in ROWS:
        names = {name.lower(): name for name in ("id", "factor", "value", *FORMS[kind])}
        with read_transaction(fleet.engine) as connection:
            found = connection.exec_driver_sql(PLAIN[kind]).mappings().all()
        ROWS[key] = [{names[name.lower()]: _float(value) for name, value in row.items()} for row in found]
    return ROWS[key]


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def test_of(data: st.DataObject, form: str, values: list[Any]) -> dict[str, Any]:
    present = [value for value in values if value is not None]
    some = st.sampled_from(present)
    wrap: dict[str, Any] = {
        "bytes": lambda v: {"bytes": str(v)},
        "rate": lambda v: {"bytesPerSecond": str(v)},
        "exact": str,
        "enum": str.upper,
    }
    shown = wrap.get(form, lambda v: v)
    if form == "yes":
        return {"eq": data.draw(st.booleans())}
    if form == "address":
        return {"in": data.draw(st.lists(some, max_size=3))}
    if form in ("number", "bytes", "rate", "exact") and len(present) < len(values) and data.draw(st.booleans()):
        return {data.draw(st.sampled_from(["eq", "ne"])): None}
    if data.draw(st.integers(0, 3)) == 0:
        return {"in": [shown(value) for value in data.draw(st.lists(some, max_size=3))]}
    test = data.draw(st.sampled_from({"word": TEXT, "text": TEXT, "enum": TEXT[:2]}.get(form, NUMBER)))
    value = data.draw(some)
    if form in ("word", "text") and test in ("contains", "containsIgnoreCase", "startsWith"):
        value = value or " "
        start = data.draw(st.integers(0, len(value) - 1))
        value = value[: start + 1] if test == "startsWith" else value[start : start + 3]
        value = value.upper() if test == "containsIgnoreCase" and value.isascii() else value
    if form == "number" and test not in ("eq", "ne") and isinstance(value, int):
        value += data.draw(st.integers(-1, 1))
    return {test: shown(value)}


def a_filter(data: st.DataObject, kind: str, rows: list[dict[str, Any]], depth: int = 2) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in data.draw(st.lists(st.sampled_from(sorted(FORMS[kind])), max_size=2, unique=True)):
        made[name] = test_of(data, FORMS[kind][name], [row[name] for row in rows])
    if depth:
        for name in data.draw(st.lists(st.sampled_from(["and", "or", "not"]), max_size=1)):
            parts = [a_filter(data, kind, rows, depth - 1) for _ in range(data.draw(st.integers(0, 2)))]
            made[name] = a_filter(data, kind, rows, depth - 1) if name == "not" else parts
    return made


test_of.__test__ = False  # type: ignore[attr-defined] # a helper


def holds(wanted: Mapping[str, Any], row: Mapping[str, Any], forms: Mapping[str, str]) -> bool:
    return all(_holds(name, value, row, forms) for name, value in wanted.items())


def _holds(name: str, value: Any, row: Mapping[str, Any], forms: Mapping[str, str]) -> bool:
    if name == "and":
        return all(holds(part, row, forms) for part in value)
    if name == "or":
        return any(holds(part, row, forms) for part in value)
    if name == "not":
        return not holds(value, row, forms)
    return all(_passes(test, _plain(other, forms[name]), row[name]) for test, other in value.items())


def _plain(value: Any, form: str) -> Any:
    if isinstance(value, list):
        return [_plain(each, form) for each in value]
    if isinstance(value, dict):
        return int(next(iter(value.values())))
    if form == "enum":
        return value.lower()
    return int(value) if form == "exact" and value is not None else value


def _passes(test: str, other: Any, value: Any) -> bool:
    if other is None:
        return (value is None) == (test == "eq")
    if value is None:  # as in SQL: nothing is said of what is not there
        return False
    return value in other if test == "in" else bool(COMPARE[test](value, other))


@pytest.mark.drawing
@pytest.mark.parametrize("kind", sorted(PLAIN))
def test_filters_find_what_plain_python_finds(worn: BaseFleet, kind: str) -> None:
    rows, ask = rows_of(worn, kind), both_ways(worn)
    type_ = {"chips": "ChipFilter", "links": "LinkFilter", "facts": "FactFilter"}[kind]
    name = "id" if kind != "facts" else "quote"
    document = f"query ($f: {type_}) {{ {kind}(filter: $f, first: 1000) {{ totalCount nodes {{ {name} }} }} }}"

    @examples(20)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        wanted = a_filter(data, kind, rows)
        found = ask(document, f=wanted)
        assert found["errors"] == []
        kept = [row for row in sorted(rows, key=itemgetter("id")) if holds(wanted, row, FORMS[kind])]
        ids = [f"{kind[:-1]}:{row['id']}" for row in kept] if name == "id" else [row["quote"] for row in kept]
        assert found["data"][kind] == {"totalCount": len(kept), "nodes": [{name: key} for key in ids[:1000]]}

    check()


ORDERS = [
    [],
    [{"ordinal": "DESC"}],
    [{"state": "ASC"}, {"generation": "DESC"}],
    [{"memory": "DESC"}, {"state": "DESC"}, {"ordinal": "ASC"}],
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("backwards", [False, True])
def test_pages_either_way_are_the_whole_list_in_order(
    worn: BaseFleet, order: list[dict[str, str]], backwards: bool
) -> None:
    ask = both_ways(worn)
    rows = sorted(rows_of(worn, "chips"), key=itemgetter("id"))
    for each in reversed(order):
        ((name, way),) = each.items()
        rows.sort(key=itemgetter(name), reverse=way == "DESC")
    size, end = ("last", "before") if backwards else ("first", "after")
    document = f"""query ($o: [ChipOrder!], $at: String) {{ chips(orderBy: $o, {size}: 77, {end}: $at) {{
        nodes {{ id }} edges {{ cursor node {{ id }} }}
        pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"""
    seen: list[str] = []
    at = None
    while True:
        page = ask(document, o=order, at=at)["data"]["chips"]
        ids = [node["id"] for node in page["nodes"]]
        assert ids == [edge["node"]["id"] for edge in page["edges"]]
        info = page["pageInfo"]
        assert (info["startCursor"], info["endCursor"]) == (page["edges"][0]["cursor"], page["edges"][-1]["cursor"])
        assert info["hasNextPage" if backwards else "hasPreviousPage"] == (at is not None)
        seen = ids + seen if backwards else seen + ids
        at = info["startCursor" if backwards else "endCursor"]
        if not info["hasPreviousPage" if backwards else "hasNextPage"]:
            break
    assert seen == [f"chip:{row['id']}" for row in rows]


def test_a_factor_is_found_by_the_number_that_is_shown(databases: Databases) -> None:
    """0.000123 · 10⁶ is 122.99999999999999 as a float."""
    url = databases.seeded("sqlite")
    with trninv.open(url) as fleet, write_transaction(fleet.engine) as connection:
        chip = "trn1.2xlarge/d0/s0/c0"
        set_state(connection, [chip], Condition.from_user("degraded", 0.000123), why="test", who="tests")
    with trninv.open(url) as fleet:
        found = both_ways(fleet)("{ chips(filter: {factor: {eq: 0.000123}}) { nodes { address factor } } }")
    assert found["data"]["chips"]["nodes"] == [{"address": chip, "factor": 0.000123}]


def test_an_empty_page_has_no_cursors(worn: BaseFleet) -> None:
    found = both_ways(worn)("""{ chips(first: 0) { totalCount nodes { id } pageInfo {
        hasNextPage hasPreviousPage startCursor endCursor } } }""")["data"]["chips"]
    assert found == {
        "totalCount": 305,
        "nodes": [],
        "pageInfo": {"hasNextPage": True, "hasPreviousPage": False, "startCursor": None, "endCursor": None},
    }


def test_aggregates_add_up_to_the_rows(worn: BaseFleet) -> None:
    rows, ask = rows_of(worn, "chips"), both_ways(worn)
    groups = ask("""{ chips(filter: {not: {state: {eq: DOWN}}}, first: 1) { aggregates(by: [CLUSTER, STATE]) {
        cluster state generation count memory { bytes fact { value } } bandwidth { bytesPerSecond } } } }""")
    kept: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["state"] != "down":
            kept.setdefault((row["cluster"], row["state"]), []).append(row)
    assert groups["data"]["chips"]["aggregates"] == [
        {
            "cluster": cluster,
            "state": state.upper(),
            "generation": None,
            "count": len(found),
            "memory": {"bytes": str(sum(row["memory"] for row in found)), "fact": None},
            "bandwidth": {"bytesPerSecond": str(sum(row["memoryBandwidth"] for row in found))},
        }
        for (cluster, state), found in sorted(kept.items())
    ]


def test_aggregates_of_nothing(worn: BaseFleet) -> None:
    document = """{ chips(filter: {cluster: {in: []}}) {
        aggregates { count teraflops(type: INT8) memory { bytes } } by: aggregates(by: [STATE]) { count } } }"""
    nothing = {"count": 0, "teraflops": None, "memory": None}
    assert both_ways(worn)(document)["data"]["chips"] == {"aggregates": [nothing], "by": []}
