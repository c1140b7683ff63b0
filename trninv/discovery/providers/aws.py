"""Pull the Neuron instances of a region from EC2, and the nodes of its HyperPod clusters from SageMaker."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from trninv.discovery.aws_client import AwsClients
from trninv.discovery.provider import Provider, PulledEntry, PulledListing, PulledListings, PullProgress
from trninv.discovery.target import Target
from trninv.errors import DiscoveryRefusedError
from trninv.importers.records import NEURON_TYPE_PREFIXES

_TYPE_FILTER: Final = [{"Name": "instance-type", "Values": [f"{prefix}*" for prefix in NEURON_TYPE_PREFIXES]}]
_PAGE_SIZES: Final[Mapping[str, int]] = {"DescribeInstances": 1_000, "DescribeCapacityReservationTopology": 10}
"""The entries per page that EC2 allows, where it is not 100."""


def pull(target: Target, progress: PullProgress) -> PulledListings:
    """Read all listings of a region, with the default credentials, a profile's or a role's.

    Raises
    ------
    DiscoveryError
        A call failed, or credentials are missing or expired.

    """
    clients, notes = AwsClients(target), list[str]()

    def optional(call: Callable[..., Iterator[Any]], *arguments: Any, **parameters: Any) -> Iterator[Any]:
        try:
            yield from list(call(*arguments, **parameters))
        except DiscoveryRefusedError as error:
            notes.append(str(error))

    def ec2(operation: str, key: str, **parameters: Any) -> Iterator[Any]:
        size = _PAGE_SIZES.get(operation, 100)
        return clients.pages("ec2", operation, key, progress, MaxResults=size, **parameters)

    blocks = dict(
        chain(
            _reservation_blocks(optional(ec2, "DescribeCapacityReservationTopology", "CapacityReservations")),
            _listed_blocks(optional(ec2, "DescribeCapacityBlocks", "CapacityBlocks")),
        )
    )
    reservations = ec2("DescribeInstances", "Reservations", Filters=_TYPE_FILTER)
    instances = _instance_entries(reservations, blocks)
    topology = _entries(ec2("DescribeInstanceTopology", "Instances", Filters=_TYPE_FILTER), "InstanceId", "Instances")
    statuses = optional(ec2, "DescribeCapacityBlockStatus", "CapacityBlockStatuses")
    nodes = optional(_cluster_nodes, clients, progress)
    listings = (
        PulledListing("ec2", "instances", tuple(instances), {"Reservations": []}),
        PulledListing("ec2", "topology", tuple(topology), {"Instances": []}),
        PulledListing(
            "ec2",
            "capacity-blocks",
            tuple(_entries(statuses, "CapacityBlockId", "CapacityBlockStatuses")),
            {"CapacityBlockStatuses": []},
        ),
        PulledListing(
            "hyperpod",
            "cluster-nodes",
            tuple(_entries(nodes, "InstanceId", "ClusterNodeSummaries")),
            {"ClusterNodeSummaries": []},
        ),
    )
    return PulledListings(clients.account(), listings, tuple(notes))


def _instance_entries(reservations: Iterable[Mapping[str, Any]], blocks: Mapping[str, str]) -> Iterator[PulledEntry]:
    """Yield instances, with the capacity block of their reservation if EC2 does not name it."""
    for reservation in reservations:
        for instance in reservation.get("Instances", ()):
            block = blocks.get(instance.get("CapacityReservationId", ""))
            entry = {"CapacityBlockId": block, **instance} if block else instance
            yield PulledEntry(instance.get("InstanceId", ""), {"Reservations": [{"Instances": [entry]}]})


def _entries(items: Iterable[Mapping[str, Any]], key: str, name: str) -> Iterator[PulledEntry]:
    """Yield the items of a response's list ``name``, each as a response of its own."""
    return (PulledEntry(str(item.get(key, "")), {name: [item]}) for item in items)


def _reservation_blocks(reservations: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for reservation in reservations:
        if block := reservation.get("CapacityBlockId"):
            yield reservation.get("CapacityReservationId", ""), block


def _listed_blocks(blocks: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for block in blocks:
        for reservation in block.get("CapacityReservationIds", ()):
            yield reservation, block.get("CapacityBlockId", "")


def _cluster_nodes(clients: AwsClients, progress: PullProgress) -> Iterator[Mapping[str, Any]]:
    """Yield the Neuron instances of all HyperPod clusters; their summaries name the UltraServer."""
    types = tuple(f"ml.{prefix}" for prefix in NEURON_TYPE_PREFIXES)
    for cluster in clients.pages("sagemaker", "ListClusters", "ClusterSummaries", progress, MaxResults=100):
        name = cluster.get("ClusterName", "")
        for node in clients.pages(
            "sagemaker", "ListClusterNodes", "ClusterNodeSummaries", progress, ClusterName=name, MaxResults=100
        ):
            if str(node.get("InstanceType", "")).startswith(types) and node.get("InstanceId"):
                yield node


PROVIDER = Provider(
    name="aws",
    title="AWS",
    place="a region; by default that of the credentials",
    extra="aws",
    pull=pull,
    calls={
        "sts:GetCallerIdentity": "the account, so that one account's listings never replace another's",
        "ec2:DescribeInstances": "instances of the types trn* and inf*: type, state, zone, host, reservation",
        "ec2:DescribeInstanceTopology": "the network nodes above each instance, and its capacity block",
    },
    optional_calls={
        "sts:AssumeRole": "only if a target names a role: its credentials",
        "ec2:DescribeCapacityBlocks": "the capacity block of each reservation",
        "ec2:DescribeCapacityBlockStatus": "whether a block's interconnect is impaired",
        "ec2:DescribeCapacityReservationTopology": "the capacity block of each reservation",
        "sagemaker:ListClusters": "the HyperPod clusters",
        "sagemaker:ListClusterNodes": "the state and UltraServer of each node",
    },
)
