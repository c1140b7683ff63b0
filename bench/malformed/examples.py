"""Valid inputs from which malformed ones are made."""

from pathlib import Path

_DOMAIN = "u-trn2x64/d0"


def _lines(name: str) -> tuple[str, ...]:
    return tuple(Path(__file__).with_name(f"{name}.txt").read_text().splitlines())


DOCUMENTS, STATEMENTS = _lines("documents"), _lines("statements")
VARIABLES = ("{}", '{"n": 2}', '{"n": "x"}', '{"n": 99999999999}', "null", "[]", '{"n": {"a": [1, null]}}')

COMMANDS = (
    ("path", f"{_DOMAIN}/s0/c0", f"{_DOMAIN}/s2/c10", "--by", "bandwidth", "-k", "2", "--avoid", f"{_DOMAIN}/s1"),
    ("bandwidth", f"{_DOMAIN}/s0/c0", f"{_DOMAIN}/s0/c1", "--down", f"{_DOMAIN}/s0/c2", "--format", "json"),
    ("pool", f"{_DOMAIN}/s0/c0", "--hops", "1", "--min-bandwidth", "64 GB/s"),
    ("bisection", "trn2-16.48xlarge", "--chips", "trn2-16.48xlarge/d0/s0/c0"),
    ("distances", "trn1.32xlarge", "--format", "json"),
    ("place", "trn1.32xlarge/d0/s0/c0", "--memory", "64 GiB", "--nearest", "here"),
    ("show", "trn3-gen2/d0/s0/c0--trn3-gen2/d0/s18/c0", "--format", "table"),
    ("facts", "trainium2", "--conflicts"),
    ("events", f"{_DOMAIN}/s0", "--last", "3", "--format", "json"),
    ("report", "capacity", "--set", "generation=trn2", "--format", "csv", "--limit", "5"),
    ("sql", "SELECT slug FROM cluster", "--format", "ndjson", "--seconds", "3"),
    ("query", "{ clusters { nodes { slug } } }", "--variables", "{}"),
    ("set", f"{_DOMAIN}/s1/c5", "degraded", "--factor", "0.5", "--why", "x", "--who", "me"),
    ("seed", "trn2", "--name", "lab", "--domains", "2", "--dry-run"),
    ("unseed", "trn1.2xlarge"),
    ("migrate", "--check", "--sql", "--to", "base"),
    ("token", "revoke", "grafana"),
    ("token", "list", "--format", "json"),
    ("draw", f"{_DOMAIN}/s0", "-o", "-", "--bisection"),
    ("draw", "trn3-gen1", "-o", "-", "--path", "trn3-gen1/d0/s0/c0", "trn3-gen1/d0/s1/c1"),
    ("import", "ec2", "-", "--taken-at", "2026-11-22T02:10:00Z", "--allow-empty", "--dry-run"),
    ("import", "neuron-ls", "-", "/dev/null", "--trust-host-names", "--format", "json"),
    ("import", "jobs", "slurm", "-", "--as", "main", "--partial"),
    ("adopt", "prod", "--dry-run", "--format", "json"),
    ("bind", f"{_DOMAIN}/s1", "i-0123456789abcdef0", "--who", "me"),
    ("infer-bindings", "u-trn2x64", "--hostname", "{cluster}-{domain:02}-{server}", "--max-age", "2"),
    ("unbind", "@i-0123456789abcdef0", "--who", "me"),
    ("bindings", "u-trn2x64", "--ended", "--at", "3"),
    ("drift", _DOMAIN, "--fail-on", "high", "--apply", "--stale-after", "5", "--include-cleared"),
    ("topology", "u-trn2x64", "--as", "slurm-tree", "--hostname", "n-{domain}-{server:03}", "--include-down"),
    ("topology", f"{_DOMAIN}/s0", "--as", "hwloc", "--check"),
    ("systems", "--format", "json"),
    ("status", "--format", "json"),
)

PATHS = (
    "/", "/graphql?query={clusters{nodes{slug}}}", "/healthz", "/readyz", "/metrics", "/reports",
    "/reports/capacity.csv", "/reports/pools.json?top=3",
    "/export/v_chip.csv?columns=address,state&cluster=trn1.2xlarge", "/export/chip.ndjson",
    "/chips/u-trn2x64", "/assets/index.js", "/favicon.ico", "/graphql?extensions={}&variables={}&operationName=A",
)  # fmt: skip
"""Paths of HTTP requests."""
METHODS = ("GET", "GET", "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "get", "X", "")
HEADERS = (*_lines("headers"), "X: " + "y" * 5_000)
