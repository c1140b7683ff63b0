"""``aws sagemaker list-cluster-nodes``: the instances of a HyperPod cluster and the UltraServers that they are in."""

from collections.abc import Iterator

from trninv.importers.answer import items
from trninv.importers.observed import Listing, Seen, Server
from trninv.importers.reading import Source

EXPECTED = {"host": "PrivateDnsHostname", "instance_type": "InstanceType", "state": "InstanceStatus.Status"}
_STATES = {
    "Running": "up",
    "Pending": "maintenance",
    "SystemUpdating": "maintenance",
    "DeepHealthCheckInProgress": "maintenance",
    "ShuttingDown": "down",
    "Failure": "down",
}


def read(source: Source) -> Iterator[Seen]:
    """The servers of a file."""
    for page in source.values():
        for each in items(page, "ClusterNodeSummaries"):
            status = each.get("InstanceStatus")
            word, kind = status.get("Status").as_text(), each.get("InstanceType").as_name()
            instance = each.get("InstanceId").as_name()
            if instance is None:
                each.fault("has no InstanceId")
            elif word != "NotFound":
                yield Server(
                    where=each.where,
                    instance=instance,
                    host=each.get("PrivateDnsHostname").as_name(),
                    instance_type=kind and kind.removeprefix("ml."),
                    ultraserver=each.get("UltraServerInfo").get("Id").as_name(),
                    state=_STATES.get(word or ""),
                    reason=status.get("Message").as_text() or word,
                    expected=EXPECTED,
                )
    yield Listing()
