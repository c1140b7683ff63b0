"""Files of receivers: what is read, what is refused, and that no secret is shown."""

from pathlib import Path

import pytest
from flaky_receiver import SECRET, SECRET_TEXT

from trninv.errors import InvalidFileError
from trninv.incidents.model import IncidentSeverity
from trninv.webhooks.receiver import BodyFormat, CheckSelection, Receiver, parse_receivers

ENVIRON = {
    "PAGER": SECRET_TEXT,
    "SLACK": "https://hooks.slack.example/services/T0/B0/hush",
    "SHORT": "YWJj",
    "OPEN": "ä",
}
A = "name: a, url: 'https://a.example/x', secret_env: PAGER"


def parse(text: str) -> list[Receiver]:
    return parse_receivers(text.encode(), "hooks.yaml", ENVIRON)


def test_receivers_are_read_with_their_secrets(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET_TEXT.removeprefix('whsec_')}\n")
    pager, slack = parse(f"""
receivers:
  - name: pager
    url: https://a.example:8443/hook?x=1
    secret_file: {tmp_path}/secret
    events: {{scope: prod/d3, kind: chip, state: down}}
    incidents: {{severity: high}}
    attempts: 3
    allow_networks: [10.0.0.0/8, "fd00::/8"]
  - {{name: slack, url_env: SLACK, format: slack, checks: {{names: [a]}}}}
""")
    assert (pager.secret, pager.attempts, len(pager.networks)) == (SECRET, 3, 2)
    assert pager.events
    assert (pager.events.filters, pager.events.state) == ({"scope": "prod/d3", "kind": "chip"}, "down")
    assert pager.incidents
    assert (pager.incidents.severity, pager.incidents.scope, pager.checks) == (IncidentSeverity.HIGH, None, None)
    assert (slack.url.path, slack.secret) == ("/services/T0/B0/hush", None)
    assert (slack.body_format, slack.checks, slack.attempts) == (BodyFormat.SLACK, CheckSelection(frozenset("a")), 10)
    assert "hush" not in repr(slack)
    assert repr(SECRET) not in repr(pager)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "whose only key is receivers"),
        ("receivers: []", "not a list of 1 to 20 items"),
        ("receivers: [1]", ":1: a receiver is an object"),
        (f"receivers:\n- {{{A}}}", ":2: say what to send: events, incidents, checks"),
        (f"receivers:\n- {{{A}, evnts: {{}}}}", "no 'evnts'; did you mean events?"),
        (f"receivers:\n- {{{A}, checks: {{}}}}\n- {{{A}, checks: {{}}}}", ":3: line 2 has the same name, 'a'"),
        ("receivers:\n- {url: 'https://a', secret_env: PAGER, checks: {}}", "name is not printable text"),
        ("receivers:\n- {name: a, url: 'https://a', checks: {}}", "write one of secret_env and secret_file"),
        ("receivers:\n- {name: a, url: 'https://a', secret: x, checks: {}}", "no 'secret'"),
        ("receivers:\n- {name: a, secret_env: PAGER, checks: {}}", "write one of url, url_env and url_file"),
        ("receivers:\n- {name: a, url: 'https://a', secret_env: NONE, checks: {}}", "variable 'NONE' is not set"),
        ("receivers:\n- {name: a, url: 'https://a', secret_env: SHORT, checks: {}}", "not base64 of at least 16 bytes"),
        ("receivers:\n- {name: a, url: 'https://a', secret_env: OPEN, checks: {}}", "not base64 of at least 16 bytes"),
        ("receivers:\n- {name: a, url: 'https://a', secret_file: /none, checks: {}}", "No such file"),
        ("receivers:\n- {name: a, url: 'http://a', secret_env: PAGER, checks: {}}", "url has no https"),
        ("receivers:\n- {name: a, url: 'file:///etc', secret_env: PAGER, checks: {}}", "url is not https://"),
        ("receivers:\n- {name: a, url: 'https://u:p@a', secret_env: PAGER, checks: {}}", "url is not https://"),
        ("receivers:\n- {name: a, url: 'https://a:99999', secret_env: PAGER, checks: {}}", "url is not https://"),
        ('receivers:\n- {name: a, url: "https://a/\\r\\nX: y", secret_env: PAGER, checks: {}}', "url is not https://"),
        (f"receivers:\n- {{{A}, format: xml, checks: {{}}}}", "there is no 'xml'; use json or slack"),
        (f"receivers:\n- {{{A}, attempts: 0, checks: {{}}}}", "attempts is not a number of 1 to 100"),
        (f"receivers:\n- {{{A}, attempts: 101, checks: {{}}}}", "attempts is not a number of 1 to 100"),
        (f"receivers:\n- {{{A}, allow_networks: 10.0.0.0/8, checks: {{}}}}", "allow_networks is not a list"),
        (f"receivers:\n- {{{A}, allow_networks: [10.0.0.1/8], checks: {{}}}}", "allow_networks is not a list"),
        (f"receivers:\n- {{{A}, events: {{kind: chop}}}}", "events: kind is not server or"),
        (f"receivers:\n- {{{A}, events: {{since: x}}}}", "events has no 'since'"),
        (f"receivers:\n- {{{A}, incidents: {{severity: lowest}}}}", "severity is not info or low or medium or high"),
        (f"receivers:\n- {{{A}, checks: {{names: a}}}}", "names is not a list"),
        (f"receivers:\n- {{{A}, checks: []}}", "checks is not an object"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_without_secrets(text: str, message: str) -> None:
    with pytest.raises(InvalidFileError, match="nothing was sent") as refused:
        parse(text)
    errors = "\n".join(refused.value.errors)
    assert message in errors
    assert SECRET_TEXT not in errors
