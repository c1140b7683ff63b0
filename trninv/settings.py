"""Read the settings from environment variables, and locate the files that belong to trninv."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from trninv.errors import UsageError
from trninv.setting_parsers import (
    LEAST_OBSERVATIONS,
    parse_accounts,
    parse_choice,
    parse_directory,
    parse_file,
    parse_group_scopes,
    parse_header_name,
    parse_key_location,
    parse_lifetime,
    parse_networks,
    parse_number,
    parse_observations,
    parse_path,
    parse_postgresql_url,
    parse_seconds,
    parse_switch,
    parse_text,
    parse_words,
)


def _declare(parse: Callable[[str, str], Any], values: str, meaning: str, default_text: str = "") -> Mapping[str, Any]:
    """Return the metadata of a setting.

    Parameters
    ----------
    parse
        Converts the name of the setting and the text of its variable to its value.
    values, meaning
        What docs/reference/settings.md says about its values and itself, in Markdown.
    default_text
        What the page says in place of the default.
    """
    return {"parse": parse, "values": values, "meaning": meaning, "default_text": default_text}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment: each attribute NAME is read from the variable TRNINV_NAME."""

    database_url: str = field(
        metadata=_declare(
            parse_text,
            "`sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`",
            "the database; `--database` takes precedence. FILE is used literally; PostgreSQL can have [several "
            "hosts](../how-to/operations.md#replicas-and-fail-over)",
            default_text="an SQLite file in the user's data directory",
        )
    )
    bisection_nodes: int = field(
        default=5_000,
        metadata=_declare(
            parse_number,
            "whole number above 0",
            "nodes of a search tree that one bisection may visit before it returns the bounds proved so far. This "
            "limits work, not time, so a busy machine gives the same answer, only later",
        ),
    )
    request_seconds: float = field(
        default=30.0,
        metadata=_declare(
            parse_seconds,
            "seconds above 0",
            "time limit of a request to the service, including its arrival and the wait for a worker",
        ),
    )
    max_cost: int = field(
        default=100_000,
        metadata=_declare(
            parse_number, "whole number above 0", "maximum [cost](graphql.md#limits) of a GraphQL document"
        ),
    )
    auth: str = field(
        default="",
        metadata=_declare(
            parse_choice("tokens", "none"),
            "`tokens`, `none`",
            "whether every request needs an [identity](../how-to/sign-in.md): a bearer token, or that of a trusted "
            "proxy",
            default_text="none",
        ),
    )
    documents: Path | None = field(
        default=None,
        metadata=_declare(
            parse_directory,
            "directory",
            "persisted documents: clients request `NAME.graphql` by `documentId` (`NAME`, or `sha256:` and the digest "
            "of its text)",
        ),
    )
    persisted_only: bool = field(
        default=False, metadata=_declare(parse_switch, "0, 1", "whether only persisted documents are answered")
    )
    introspection: bool = field(
        default=True,
        metadata=_declare(
            parse_switch,
            "0, 1",
            "whether the service reveals its schema, by introspection or by suggestions in error messages",
        ),
    )
    graphiql: bool = field(
        default=True, metadata=_declare(parse_switch, "0, 1", "whether a browser gets GraphiQL at /graphql")
    )
    allowed_hosts: tuple[str, ...] = field(
        default=(),
        metadata=_declare(
            parse_words,
            "names separated by commas",
            "host names that requests may use for the server",
            default_text="this machine's names; any with `TRNINV_AUTH=tokens`",
        ),
    )
    cors_origins: tuple[str, ...] = field(
        default=(),
        metadata=_declare(
            parse_words,
            "origins separated by commas",
            "other origins whose pages may send requests; pages of all other sites are refused with 403",
        ),
    )
    reports: Path | None = field(
        default=None,
        metadata=_declare(parse_directory, "directory", "your own reports (`NAME.sql`), in addition to trninv's"),
    )
    checks: Path | None = field(
        default=None,
        metadata=_declare(
            parse_file,
            "YAML file",
            "the [checks](../how-to/check-in-ci.md#in-a-service) that `trninv serve` evaluates after each change. It "
            "is read at the start",
        ),
    )
    check_results: Path | None = field(
        default=None,
        metadata=_declare(
            parse_path,
            "file",
            "the results of the checks, for all processes of the service. `trninv serve` writes it if `TRNINV_CHECKS` "
            "is set; otherwise `trninv check --watch` may",
            default_text="a temporary file",
        ),
    )
    webhooks: Path | None = field(
        default=None,
        metadata=_declare(
            parse_file,
            "YAML file",
            "the [receivers](../how-to/send-webhooks.md) of events, incidents and checks, which `trninv serve` reads "
            "at its start",
        ),
    )
    graph_cache: str = field(
        default="",
        metadata=_declare(
            parse_text,
            "directory",
            "where the [graph](cypher.md#freshness) for Cypher is kept",
            default_text="in the user's cache directory",
        ),
    )
    log: str = field(
        default="json",
        metadata=_declare(
            parse_choice("json", "text", "off"),
            "`json`, `text`, `off`",
            "how each request is logged on stderr: cost, statements, request id",
        ),
    )
    sql_url: str = field(
        default="",
        metadata=_declare(
            parse_postgresql_url,
            "a URL of PostgreSQL",
            "the [login that owns nothing](sql.md#a-login-that-owns-nothing), used by `POST /sql` and reports",
        ),
    )
    read_url: str = field(
        default="",
        metadata=_declare(
            parse_postgresql_url,
            "a URL of PostgreSQL, one host or several",
            "the [standby](../how-to/operations.md#reads-on-a-standby) that `serve` reads from while it is up to date",
        ),
    )
    answer_bytes: int = field(
        default=64 * 2**20,
        metadata=_declare(
            parse_number,
            "whole number above 0",
            "maximum size of an answer of `/sql` or a report; `truncated` marks a larger one",
        ),
    )
    exports: int = field(
        default=4,
        metadata=_declare(
            parse_number, "whole number above 0", "how many exports run at once; further ones get `BUSY`"
        ),
    )
    listeners: int = field(
        default=1_000,
        metadata=_declare(
            parse_number,
            "whole number above 0",
            "how many clients can [listen to changes](../how-to/follow-changes.md) at once, per process; further ones "
            "get `BUSY`",
        ),
    )
    heartbeat: float = field(
        default=15.0,
        metadata=_declare(
            parse_seconds,
            "seconds above 0",
            "interval at which a stream of changes sends a heartbeat and checks the token again; streams with the same "
            "token share the check, so a revoked one ends them within two intervals",
        ),
    )
    observe_rows: int = field(
        default=10_000,
        metadata=_declare(
            parse_number,
            "whole number above 0",
            "rows that a token of scope `observe` can [report](../how-to/import-what-machines-report.md) in an hour; "
            "an observation of 16 chips is 18 rows",
        ),
    )
    observe_bytes: int = field(
        default=16 * 2**20,
        metadata=_declare(
            parse_number, "whole number above 0", "bytes of requests that such a token can send in an hour"
        ),
    )
    observations: int = field(
        default=LEAST_OBSERVATIONS,
        metadata=_declare(
            parse_observations,
            "whole number, at least 100",
            "how many of the newest observations of a machine are [kept](../how-to/import-what-machines-report.md), by "
            "the service and by `trninv import`",
        ),
    )
    discover: tuple[str, ...] = field(
        default=(),
        metadata=_declare(
            parse_words,
            "targets, separated by commas",
            "what `trninv serve` [pulls](../how-to/discover.md), such as `aws:us-east-2,kubernetes`",
        ),
    )
    discover_every: str = field(
        default="5m", metadata=_declare(parse_text, "duration, such as 30s, 5m or 2h", "how often it pulls")
    )
    group_scopes: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=_declare(
            parse_group_scopes,
            "`GROUP=SCOPE` separated by commas",
            "the scope of people by group: `read`, `sql`, `operate` or `admin`; the first entry with one of their "
            "groups counts, and `*` stands for everybody",
        ),
    )
    oidc_issuer: str = field(
        default="",
        metadata=_declare(
            parse_text,
            "URL",
            "the [issuer](../how-to/sign-in.md#people-with-openid-connect) whose OpenID tokens are accepted",
        ),
    )
    oidc_audience: tuple[str, ...] = field(
        default=(),
        metadata=_declare(parse_words, "audiences separated by commas", "the audiences of which a token must name one"),
    )
    oidc_jwks: str = field(
        default="", metadata=_declare(parse_key_location, "https:// URL, or a file", "the issuer's public keys")
    )
    oidc_name: str = field(
        default="email",
        metadata=_declare(parse_text, "name of a claim", "which claim of a token has the person's name"),
    )
    oidc_groups: str = field(
        default="groups", metadata=_declare(parse_text, "name of a claim", "which claim has the person's groups")
    )
    proxy_header: str = field(
        default="",
        metadata=_declare(
            parse_header_name,
            "name of a header",
            "the header in which a [trusted proxy](../how-to/sign-in.md#people-behind-a-proxy) names the person",
        ),
    )
    proxy_groups_header: str = field(
        default="X-Forwarded-Groups",
        metadata=_declare(parse_header_name, "name of a header", "the header in which it names the person's groups"),
    )
    proxy_addresses: tuple[IPv4Network | IPv6Network, ...] = field(
        default=(),
        metadata=_declare(
            parse_networks,
            "addresses or networks separated by commas",
            "from where these headers are accepted; requests with the header from elsewhere are refused",
        ),
    )
    enroll_certificates: Path | None = field(
        default=None,
        metadata=_declare(
            parse_file,
            "PEM file",
            "AWS's certificates, with which [instances enroll](../how-to/sign-in.md#instances-enroll-themselves)",
        ),
    )
    enroll_accounts: tuple[str, ...] = field(
        default=(),
        metadata=_declare(
            parse_accounts, "AWS accounts separated by commas", "the accounts whose instances may enroll"
        ),
    )
    enroll_lifetime: str = field(
        default="30d",
        metadata=_declare(parse_lifetime, "days or hours", "how long the token of an enrolled instance is valid"),
    )

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings from the environment.

        Raises
        ------
        UsageError
            A variable has an invalid value, or lacks another one that it needs.
        """
        texts = {setting: environ.get(f"TRNINV_{setting.name.upper()}", "").strip() for setting in fields(cls)}
        values = {
            setting.name: setting.metadata["parse"](setting.name, text) for setting, text in texts.items() if text
        }
        for name, required in _REQUIRED.items():
            missing = [other for other in required if not values.get(other)]
            if values.get(name) and missing:
                variables = " and ".join(f"TRNINV_{other.upper()}" for other in missing)
                raise UsageError(f"TRNINV_{name.upper()} needs {variables}")
        if values.get("auth") != "tokens" and (used := [name for name in _REQUIRED if values.get(name)]):
            raise UsageError(f"TRNINV_{used[0].upper()} needs TRNINV_AUTH=tokens")
        if "database_url" not in values:
            values["database_url"] = default_database()
        return cls(**values)

    def graph_cache_directory(self) -> Path:
        """Return the directory for the graph that Cypher reads, by default in the user's cache directory."""
        import platformdirs  # noqa: PLC0415 # only needed here

        return Path(self.graph_cache) if self.graph_cache else platformdirs.user_cache_path("trninv") / "graph"


_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "oidc_issuer": ("oidc_audience", "oidc_jwks", "group_scopes"),
    "proxy_header": ("proxy_addresses", "group_scopes"),
    "enroll_certificates": ("enroll_accounts",),
}
"""Settings that need others, by name; all of them need tokens."""


def is_service(url: str) -> bool:
    """Return whether a URL is that of a service, which `trninv.connect` takes, rather than of a database."""
    return url.startswith(("https://", "http://"))


def default_database() -> str:
    """Return the URL of an SQLite file in the user's data directory."""
    import platformdirs  # noqa: PLC0415 # not needed if a URL is set

    return f"sqlite:///{platformdirs.user_data_path('trninv') / 'trninv.db'}"


def resource_directory() -> Path:
    """Return the directory of migrations/, seed/, deploy/ and the like: inside the wheel, or the top of a checkout."""
    package = Path(__file__).parent
    bundled = package / "_bundle"
    return bundled if bundled.is_dir() else package.parent


def site_directory() -> Path:
    """Return the directory of the documentation site, which may be missing in a checkout: `./run docs` builds it."""
    return resource_directory() / "site" / "html"
