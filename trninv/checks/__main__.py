"""Print the reference page of checks: ``python -m trninv.checks > docs/reference/checks.md``."""

from collections.abc import Iterator

from trninv.checks.check_file import MAX_CHECKS, SCENARIO
from trninv.checks.evaluation import Verdict
from trninv.checks.measure import Measure
from trninv.checks.measures import MEASURES

_SCENARIO_KEYS = "\n".join(f"- `{key}`: {meaning}" for key, meaning in SCENARIO.items())
_HEADER = f"""# Checks

Generated from trninv/checks/measures.py by `python -m trninv.checks`; do not edit this page.

`trninv check FILE` compares a fleet with the bounds in a YAML file and exits with 1 if a check does not pass. See
[Check a fleet in CI](../how-to/check-in-ci.md).

```yaml
# yaml-language-server: $schema=checks.schema.json (trninv check --schema > checks.schema.json)
checks:
  - name: d0 without a server
    bisection: {{scope: u-trn2x64/d0, at_least: 1 TB/s}}
    down: [u-trn2x64/d0/s0]
  - hops: {{from: u-trn2x64/d0/s0/c0, to: u-trn2x64/d0/s2/c10, at_most: 6}}
  - incidents: {{severity: high, older_than: 2h}}
```

A file has up to {MAX_CHECKS:,} checks. A check has one measure with its arguments and bounds, and these keys:

- `name`: Its name, by default the measure and its arguments; no two checks have the same.
{_SCENARIO_KEYS}

`at_least` is the lowest value that passes and `at_most` the highest, each with its unit. A measure needs one of them
unless its description says otherwise. If only bounds of a value are proven, both must be within."""


def render_page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield f"{_HEADER}\n"
    yield "| verdict | meaning |"
    yield "| --- | --- |"
    yield from (f"| `{verdict.lower()}` | {verdict.description} |" for verdict in Verdict)
    for measure in MEASURES.values():
        yield from _render_measure(measure)


def _render_measure(measure: Measure) -> Iterator[str]:
    yield f"\n## {measure.name}\n"
    yield f"{measure.description}\n"
    yield f"- bounds: {measure.describe_unit()}"
    for name, parameter in measure.parameters_by_name.items():
        words = [*(parameter.argument.words or (choice.name.lower() for choice in parameter.choices))]
        choices = f" One of {', '.join(f'`{word}`' for word in words)}." if words else ""
        yield f"- `{name}`{'' if parameter.is_required else ' (optional)'}: {parameter.description}{choices}"
    yield "\n```yaml"
    yield from (f"- {measure.name}: {example}" for example in measure.examples)
    yield "```"


if __name__ == "__main__":
    print("\n".join(render_page()))  # noqa: T201 # the output is redirected to the page
