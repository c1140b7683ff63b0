"""What a cluster adds up to: exact integers in base units, one direction, summed from its rows."""

from typing import Any

from sqlalchemy import Connection, func, select

from trninv.catalog.models import COMPUTE
from trninv.inventory.record import compute_column
from trninv.inventory.schema import TABLES


def totals(connection: Connection, cluster_id: int) -> dict[str, int]:
    """A cluster's totals by catalog attribute, summed from its rows in base units, one direction."""
    chip, model, node = TABLES["chip"], TABLES["chip_model"], TABLES["node"]
    columns = {
        "chips": func.count(),
        "cores": func.sum(model.c.cores),
        "device_memory": func.sum(model.c.device_memory_bytes),
        "device_memory_bandwidth": func.sum(model.c.device_memory_bandwidth_bytes_per_s),
        **{name: func.sum(model.c[compute_column(name)]) for name in COMPUTE},
    }
    of_chips = (
        select(*(column.label(name) for name, column in columns.items()))
        .select_from(chip.join(node, node.c.id == chip.c.id).join(model, model.c.id == chip.c.chip_model_id))
        .where(node.c.cluster_id == cluster_id)
    )
    server, server_model, domain = TABLES["server"], TABLES["server_model"], TABLES["domain"]
    of_servers = (
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
    nic = TABLES["nic"]
    of_nics = (
        select(func.sum(nic.c.bandwidth_bytes_per_s).label("efa_bandwidth"))
        .select_from(nic.join(node, node.c.id == nic.c.id))
        .where(node.c.cluster_id == cluster_id)
    )
    rack = TABLES["rack"]
    of_racks = select(func.count().label("racks")).where(rack.c.cluster_id == cluster_id)
    found: dict[str, Any] = {}
    for query in (of_chips, of_servers, of_nics, of_racks):
        found |= connection.execute(query).mappings().one()
    return {name: int(value) for name, value in found.items() if value is not None}
