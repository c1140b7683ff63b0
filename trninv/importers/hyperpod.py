"""Read ``aws sagemaker list-cluster-nodes``: the instances of a HyperPod cluster and their UltraServers."""

from collections.abc import Iterator

from trninv.importers.input_file import InputFile
from trninv.importers.list_response import read_items
from trninv.importers.records import InstanceListing, ObservedRecord, ObservedServer

EXPECTED = {"host": "PrivateDnsHostname", "instance_type": "InstanceType", "state": "InstanceStatus.Status"}
_STATES = {
    "Running": "up",
    "Pending": "maintenance",
    "SystemUpdating": "maintenance",
    "DeepHealthCheckInProgress": "maintenance",
    "ShuttingDown": "down",
    "Failure": "down",
}


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the servers in a file; nodes with the status NotFound are skipped."""
    for page in source.values():
        for node in read_items(page, "ClusterNodeSummaries"):
            status = node.get("InstanceStatus")
            status_name, kind = status.get("Status").as_text(), node.get("InstanceType").as_name()
            instance = node.get("InstanceId").as_name()
            if instance is None:
                node.add_error("has no InstanceId")
            elif status_name != "NotFound":
                yield ObservedServer(
                    where=node.where,
                    instance=instance,
                    host=node.get("PrivateDnsHostname").as_name(),
                    instance_type=kind and kind.removeprefix("ml."),
                    ultraserver=node.get("UltraServerInfo").get("Id").as_name(),
                    state=_STATES.get(status_name or ""),
                    reason=status.get("Message").as_text() or status_name,
                    expected=EXPECTED,
                )
    yield InstanceListing()
