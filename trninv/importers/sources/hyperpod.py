"""Read ``aws sagemaker list-cluster-nodes``: the instances of a HyperPod cluster and their UltraServers."""

from collections.abc import Iterator

from trninv.importers.input_file import InputFile
from trninv.importers.list_response import read_items
from trninv.importers.records import InstanceListing, ObservedRecord, ObservedServer
from trninv.importers.source_declaration import SourceDeclaration

EXPECTED = {"host": "PrivateDnsHostname", "instance_type": "InstanceType", "state": "InstanceStatus.Status"}
"""Fields of a server that this source should report, with their names in the source."""
_STATES = {
    "Running": "up",
    "Pending": "maintenance",
    "SystemUpdating": "maintenance",
    "DeepHealthCheckInProgress": "maintenance",
    "ShuttingDown": "down",
    "Failure": "down",
}
"""The server state for each status that HyperPod reports."""


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the servers in a file, except those with the status NotFound, and a marker that it lists instances."""
    for page in source.values():
        for node in read_items(page, "ClusterNodeSummaries"):
            status = node.get("InstanceStatus")
            status_name, instance_type = status.get("Status").as_text(), node.get("InstanceType").as_name()
            instance = node.get("InstanceId").as_name()
            if instance is None:
                node.add_error("has no InstanceId")
            elif status_name != "NotFound":
                yield ObservedServer(
                    where=node.where,
                    instance=instance,
                    host=node.get("PrivateDnsHostname").as_name(),
                    instance_type=instance_type and instance_type.removeprefix("ml."),
                    ultraserver=node.get("UltraServerInfo").get("Id").as_name(),
                    state=_STATES.get(status_name or ""),
                    reason=status.get("Message").as_text() or status_name,
                    expected=EXPECTED,
                )
    yield InstanceListing()


SOURCE = SourceDeclaration(
    name="hyperpod",
    title="HyperPod",
    commands="`aws sagemaker list-cluster-nodes`",
    content="its state and UltraServer",
    read=read,
    expected=EXPECTED,
    is_manager=True,
    host_name_rank=3,
    failure_states=frozenset({"down"}),
    # its UltraServer ids differ from the driver's and come without positions; its instance types are less exact
    inexact_facts=frozenset({"instance_type", "ring_position"}),
)
