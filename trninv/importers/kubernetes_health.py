"""Read the health that Kubernetes reports: conditions and taints of nodes, and taints of devices (chips).

A device is tainted by its driver in a ResourceSlice, or by a DeviceTaintRule that selects it; both have the same
effect.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from trninv.importers.json_value import JsonValue
from trninv.importers.records import Unread

DRIVER: Final = "neuron.aws.com"
"""The name of Neuron's driver for dynamic resource allocation (DRA)."""
CORDONED: Final = "unschedulable"
"""The reason that is reported with the state of a cordoned node."""
_PROBLEM_STATUSES: Final = {
    "Ready": ("False", "Unknown"),
    "NeuronHealth": ("True",),
    "AcceleratedHardwareReady": ("False",),
}
"""The statuses that mean a problem, by condition of a node: True is good in some conditions and bad in others."""
_TAINT_STATES: Final = {
    "node.kubernetes.io/not-ready": "down",
    "node.kubernetes.io/unreachable": "down",
    "node.kubernetes.io/out-of-service": "down",
    f"node.kubernetes.io/{CORDONED}": "maintenance",
}
"""Taints that concern a node's health, with the state they mean; other taints only say which jobs a node takes."""
_UNEVALUATED: Final = "is not supported, so this rule is ignored; select devices by driver, pool and device"
_HYPERPOD_HEALTH_LABEL: Final = "sagemaker.amazonaws.com/node-health-status"


def node_state(spec: JsonValue, status: JsonValue, labels: JsonValue) -> tuple[str, str | None]:
    """Return a node's state, and its problems joined by semicolons, or None if it has no problem."""
    problems = list(_read_problems(spec, status, labels))
    if not problems:
        return "up", None
    state = "down" if any(state == "down" for state, _ in problems) else "maintenance"
    return state, "; ".join(dict.fromkeys(reason for _, reason in problems))


def _read_problems(spec: JsonValue, status: JsonValue, labels: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the state and the reason of each problem of a node."""
    for condition in status.get("conditions").objects():
        name = condition.get("type").as_text() or ""
        if condition.get("status").as_text() in _PROBLEM_STATUSES.get(name, ()):
            yield "down", f"{name}: {condition.get('reason').as_text() or 'no reason given'}"
    for taint in spec.get("taints").objects():
        key = taint.get("key").as_text() or ""
        if key in _TAINT_STATES:
            yield _TAINT_STATES[key], key.rpartition("/")[2]
    health = labels.get(_HYPERPOD_HEALTH_LABEL).as_text()
    if health and health != "Schedulable":
        yield "maintenance", health
    if spec.get("unschedulable").raw is True:
        yield "maintenance", CORDONED


class TaintRule(NamedTuple):
    """A DeviceTaintRule: the driver, pool and device that it selects (None selects all), and its taint."""

    driver: str | None
    pool: str | None
    device: str | None
    taint: str

    def selects(self, pool: str | None, device: str | None) -> bool:
        """Return whether the rule taints this device of Neuron's driver."""
        criteria = (self.driver, DRIVER), (self.pool, pool), (self.device, device)
        return all(name in (None, actual) for name, actual in criteria)


def parse_taint_rule(rule: JsonValue) -> TaintRule | Unread | None:
    """Parse a DeviceTaintRule.

    Returns None if it selects no device of Neuron's driver or its taint is invalid, and Unread if it selects devices
    by other criteria, such as CEL expressions.
    """
    selector = rule.get("spec").get("deviceSelector")
    if selector.raw is None or not selector.is_a(dict, "an object"):
        return None
    driver, pool, device = (selector.get(name).as_name() for name in ("driver", "pool", "device"))
    if driver not in (None, DRIVER):
        return None
    for name in sorted(selector.raw.keys() - {"driver", "pool", "device"}):
        if selector.get(name).raw is not None:
            return Unread(selector.get(name).where, _UNEVALUATED)
    taint = _format_taint(rule.get("spec").get("taint"))
    return TaintRule(driver, pool, device, taint) if taint else None


def device_taints(device: JsonValue, pool: str | None, rules: Iterable[TaintRule]) -> tuple[str, ...]:
    """Return a device's taints as kubectl writes them, KEY=VALUE:EFFECT; the API v1beta1 nests them in ``basic``."""
    name, details = device.get("name").as_name(), device.get("basic") if "basic" in device.raw else device
    own = (_format_taint(taint) for taint in details.get("taints").objects())
    by_rule = (rule.taint for rule in rules if rule.selects(pool, name))
    return tuple(sorted({taint for taint in (*own, *by_rule) if taint}))


def _format_taint(taint: JsonValue) -> str | None:
    """Return a taint as KEY=VALUE:EFFECT, or None and note an error if it is invalid."""
    key, value, effect = (taint.get(name).as_name() for name in ("key", "value", "effect"))
    if key is None or effect is None:
        taint.add_error("has no key and effect")
        return None
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def is_active(taint: str) -> bool:
    """Return whether a taint keeps pods off a device; other effects, such as None, only inform."""
    return taint.endswith((":NoSchedule", ":NoExecute"))
