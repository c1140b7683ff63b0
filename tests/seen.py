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
