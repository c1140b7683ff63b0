"""Write the permissions that discovery needs from the declared calls: an IAM policy and a ClusterRole.

``python -m trninv.discovery.permissions DIRECTORY`` writes the files of deploy/discovery.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from trninv.discovery.provider import all_providers

_ROLE: Final = "arn:aws:iam::*:role/trninv-discover"
"""The role that targets in other accounts name; `sts:AssumeRole` is allowed for no other."""


def iam_policy() -> Mapping[str, Any]:
    """Return the IAM policy with all calls of AWS."""
    actions = sorted(call.name for call in all_providers()["aws"].api_calls() if call.name != "sts:AssumeRole")
    read = {"Sid": "Read", "Effect": "Allow", "Action": actions, "Resource": "*"}
    role = {"Sid": "OtherAccounts", "Effect": "Allow", "Action": "sts:AssumeRole", "Resource": _ROLE}
    return {"Version": "2012-10-17", "Statement": [read, role]}


def cluster_role() -> Mapping[str, Any]:
    """Return the ClusterRole with all resources of Kubernetes that are listed and watched, by API group."""
    resources, verbs = defaultdict[str, set[str]](set), set[str]()
    for call in all_providers()["kubernetes"].api_calls():
        verb, _, name = call.name.partition(" ")
        resource, _, group = name.partition(".")
        resources[group].add(resource)
        verbs.add(verb)
    rules = [
        {"apiGroups": [group], "resources": sorted(names), "verbs": sorted(verbs)}
        for group, names in sorted(resources.items())
    ]
    metadata = {"name": "trninv-discover"}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def render_files() -> Mapping[str, str]:
    """Return the content of each file by name."""
    return {
        "iam-policy.json": json.dumps(iam_policy(), indent=2) + "\n",
        "cluster-role.yaml": yaml.safe_dump(cluster_role(), sort_keys=False),
    }


if __name__ == "__main__":
    for name, content in render_files().items():
        (Path(sys.argv[1]) / name).write_text(content)
