"""Jobs as schedulers list them."""

import io
import json
from typing import Any

from sqlalchemy import Connection

from trninv.importers.ingestion import ImportFile
from trninv.placement.allocations.job_import import JobImportResult, import_jobs, read_jobs

HOSTS = [f"u-trn2x64-d0-s{server}" for server in range(4)]
"""As the template calls the slots."""


def slurm(identity: int, nodes: str, *details: str, **others: Any) -> dict[str, Any]:
    """A job as squeue --json prints it."""
    job = {"job_id": identity, "name": f"job{identity}", "job_state": "RUNNING", "nodes": nodes, "user_name": "ann"}
    return job | {"gres_detail": list(details), "start_time": 1_790_000_000, "priority": 5} | others


def claim(name: str, *devices: tuple[str, str], **others: Any) -> dict[str, Any]:
    """A ResourceClaim that was allocated devices of pools."""
    results = [{"driver": "neuron.aws.com", "pool": pool, "device": device} | others for pool, device in devices]
    return {
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-01T00:00:00Z",
        },
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [{"name": "pod-1"}]},
    }


def told(connection: Connection, listing: object, kind: str = "slurm", **options: Any) -> JobImportResult:
    """What became of a listing."""
    system = options.pop("system", kind)
    file = ImportFile("jobs.json", io.BytesIO(json.dumps(listing).encode()))
    return import_jobs(connection, system, read_jobs(kind, [file]), **options)
