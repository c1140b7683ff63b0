"""Sum a cluster's chips, memory, compute and bandwidth from its rows, to describe it and to verify it."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, literal, select

from trninv.catalog.models import COMPUTE
from trninv.database.tables import TABLES
from trninv.inventory.schema.thing import id_block_range
from trninv.inventory.schema.things import THINGS
from trninv.inventory.seeding.catalog_rows import compute_column


def cluster_totals(connection: Connection, cluster_id: int) -> dict[str, int]:
    """Return a cluster's totals by catalog attribute, as integers in base units; bandwidth is one direction."""
    chip, model = TABLES["chip"], TABLES["chip_model"]
    # the ids as values, not as subqueries: PostgreSQL would assume that the unknown range is small and use an index
    first, end = connection.execute(select(*id_block_range(THINGS["chip"], literal(cluster_id)))).one()
    chip_counts = _count_by_model(connection, chip.c.id.between(first, end - 1)).subquery("chip_counts")
    columns = {
        "cores": model.c.cores,
        "device_memory": model.c.device_memory_bytes,
        "device_memory_bandwidth": model.c.device_memory_bandwidth_bytes_per_s,
        **{name: model.c[compute_column(name)] for name in COMPUTE},
    }
    chip_totals = select(
        func.coalesce(func.sum(chip_counts.c.number), 0).label("chips"),
        *(func.sum(chip_counts.c.number * column).label(name) for name, column in columns.items()),
    ).select_from(chip_counts.join(model, model.c.id == chip_counts.c.chip_model_id))
    server, server_model, domain = TABLES["server"], TABLES["server_model"], TABLES["domain"]
    server_totals = (
        select(
            func.count().label("servers"),
            func.sum(server_model.c.vcpus).label("vcpus"),
            func.sum(server_model.c.host_memory_bytes).label("host_memory"),
        )
        .select_from(
            server.join(domain, domain.c.id == server.c.domain_id).join(
                server_model, server_model.c.id == server.c.server_model_id
            )
        )
        .where(domain.c.cluster_id == cluster_id)
    )
    nic = TABLES["nic"]  # its ids are in the same block as those of chips
    nic_totals = select(func.sum(nic.c.bandwidth_bytes_per_s).label("efa_bandwidth"))
    nic_totals = nic_totals.where(nic.c.id.between(first, end - 1))
    rack = TABLES["rack"]
    rack_totals = select(func.count().label("racks")).where(rack.c.cluster_id == cluster_id)
    sums: dict[str, Any] = {}
    for query in (chip_totals, server_totals, nic_totals, rack_totals):
        sums |= connection.execute(query).mappings().one()
    return {name: int(value) for name, value in sums.items() if value is not None}


def _count_by_model(connection: Connection, condition: ColumnElement[bool]) -> Select[Any]:
    """Return a query of the number of chips of each model, without grouping if there is only one model."""
    model, number = TABLES["chip"].c.chip_model_id, func.count().label("number")
    low, high, count = connection.execute(select(func.min(model), func.max(model), number).where(condition)).one()
    if low == high:
        return select(literal(low).label("chip_model_id"), literal(count).label("number"))
    return select(model, number).where(condition).group_by(model)
