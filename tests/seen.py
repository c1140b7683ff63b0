"""What a mixed fleet in one region prints: EC2's pages of 3 UltraServers and single servers of every kind."""

from typing import Any

TOP = "nn-0000000000000001"


def instance(number: int, kind: str, block: str | None = None) -> dict[str, Any]:
    """An instance as DescribeInstances has it."""
    found = {
        "InstanceId": f"i-{number:017x}",
        "InstanceType": kind,
        "PrivateDnsName": f"ip-10-0-{number // 250}-{number % 250}.ec2.internal",
        "State": {"Name": "running"},
        "Placement": {"AvailabilityZoneId": "use2-az3"},
    }
    return found | ({"CapacityBlockId": block} if block else {})


def below(each: dict[str, Any], *nodes: str) -> dict[str, Any]:
    """The same as DescribeInstanceTopology has it."""
    kept = {key: each[key] for key in ("InstanceId", "InstanceType", "CapacityBlockId") if key in each}
    return kept | {"NetworkNodes": list(nodes), "ZoneId": "use2-az3"}


def fleet() -> tuple[dict[str, Any], dict[str, Any]]:
    """Two UltraServers and one with three instances, 4 trn2, 2 trn1 in two sizes, a server of another kind."""
    ultra = [instance(n, "trn2u.48xlarge", f"cb-{n // 4}") for n in range(11)]
    plain = [instance(n, "trn2.48xlarge", "cb-9") for n in range(20, 24)]
    small = [instance(30, "trn1.32xlarge"), instance(31, "trn1.2xlarge")]
    others = [instance(40, "m5.large")]
    topology = [
        *(below(each, TOP, f"nn-aaaaaaa{at // 8}", f"nn-bbbbbbb{at // 4}") for at, each in enumerate(ultra)),
        *(below(each, TOP, "nn-aaaaaaa0", "nn-bbbbbbb7") for each in plain),
        *(below(each, TOP, "nn-aaaaaaa5") for each in small),
    ]
    instances = {"Reservations": [{"Instances": [*ultra, *plain, *small, *others]}]}
    return instances, {"Instances": topology}


def nodes() -> dict[str, Any]:
    """The same as kubectl lists its nodes, and an UltraServer of each kind of Trn3, one of them with three servers."""
    _, topology = fleet()
    trn3 = [(n, 16, "cb-30") for n in range(60, 64)] + [(n, 4, "cb-31") for n in range(70, 73)]
    listed = [(each, 1 if each["InstanceType"] == "trn1.2xlarge" else 16) for each in topology["Instances"]]
    listed += [
        (below(instance(n, "trn3.48xlarge", block), TOP, "nn-aaaaaaa3", "nn-bbbbbbb9"), c) for n, c, block in trn3
    ]
    return {"apiVersion": "v1", "kind": "List", "items": [_node(each, chips) for each, chips in listed]}


def _node(each: dict[str, Any], chips: int) -> dict[str, Any]:
    labels = {
        "node.kubernetes.io/instance-type": each["InstanceType"],
        "topology.k8s.aws/capacity-block-id": each.get("CapacityBlockId", ""),
        **{f"topology.k8s.aws/network-node-layer-{n}": name for n, name in enumerate(each["NetworkNodes"], start=1)},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n-{each['InstanceId']}", "labels": labels},
        "spec": {"providerID": f"aws:///us-east-2c/{each['InstanceId']}"},
        "status": {"allocatable": {"aws.amazon.com/neuron": str(chips)}},
    }
