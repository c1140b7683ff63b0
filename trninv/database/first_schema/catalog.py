"""Create the tables of what documents state: sources, facts, models and legal sets."""

from trninv.database.first_schema.ddl import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    TEXT,
    create_index,
    create_table,
    optional,
    required,
)

TABLES = ("source", "fact", "chip_model", "server_model", "domain_model", "link_model", "switch_model", "legal_set")


def create() -> None:
    """Create the tables with their indexes."""
    create_table(
        "source",
        *required(TEXT, "slug", "title", "publisher"),
        *optional(TEXT, "date"),
        *required(TEXT, "kind"),
        *optional(TEXT, "note"),
        checks={"kind": "kind IN ('seed', 'vendor', 'driver', 'third_party', 'assumed')"},
        unique=("slug",),
    )
    create_table(
        "fact",
        *required(TEXT, "subject", "attribute", "dimension"),
        *required(INTEGER, "source_id"),
        *required(TEXT, "as_written", "unit", "quote"),
        *optional(TEXT, "reading_unit", "reading_direction", "reading_reason", "formula"),
        *optional(BIGINT, "value"),
        *required(INTEGER, "preference"),
        *required(BOOLEAN, "disputed"),
        *optional(TEXT, "note", "shown", "differs_in", "others", "dispute"),
        checks={
            "reading_direction": "reading_direction IS NULL OR reading_direction IN ('one', 'both')",
            "preference": "preference >= 0",
            "differs_in": "differs_in IS NULL OR differs_in IN ('value', 'rounding', 'unit')",
        },
        references={"source_id": "source"},
        unique=("subject", "attribute", "preference"),
    )
    create_index("fact", "source_id")
    create_table(
        "chip_model",
        *required(TEXT, "slug", "name", "generation", "core_model"),
        *required(INTEGER, "cores"),
        *required(BIGINT, "device_memory_bytes", "device_memory_bandwidth_bytes_per_s"),
        *optional(BIGINT, "mxfp8_gflops", "fp8_gflops", "bf16_gflops", "fp32_gflops", "sparse_gflops", "int8_gops"),
        checks={
            "cores": "cores > 0",
            "device_memory_bytes": "device_memory_bytes > 0",
            "device_memory_bandwidth_bytes_per_s": "device_memory_bandwidth_bytes_per_s > 0",
        },
        unique=("slug",),
    )
    create_table(
        "server_model",
        *required(TEXT, "slug"),
        *required(INTEGER, "chip_model_id", "chips", "vcpus"),
        *required(BIGINT, "host_memory_bytes"),
        checks={"chips": "chips > 0", "vcpus": "vcpus > 0", "host_memory_bytes": "host_memory_bytes > 0"},
        references={"chip_model_id": "chip_model"},
        unique=("slug",),
    )
    create_index("server_model", "chip_model_id")
    create_table(
        "domain_model",
        *required(TEXT, "slug", "name"),
        *required(INTEGER, "server_model_id"),
        *required(TEXT, "wiring", "sides"),
        *required(INTEGER, "servers", "chips"),
        checks={"servers": "servers > 0", "chips": "chips > 0"},
        references={"server_model_id": "server_model"},
        unique=("slug",),
    )
    create_index("domain_model", "server_model_id")
    create_table(
        "link_model",
        *required(TEXT, "slug", "technology", "scope"),
        *optional(INTEGER, "lanes"),
        *required(BIGINT, "bandwidth_bytes_per_s"),
        checks={
            "scope": "scope IN ('server', 'rack', 'domain', 'host', 'fabric')",
            "lanes": "lanes > 0",
            "bandwidth_bytes_per_s": "bandwidth_bytes_per_s > 0",
        },
        unique=("slug",),
    )
    create_table("switch_model", *required(TEXT, "slug", "name"), unique=("slug",))
    create_table(
        "legal_set",
        *required(INTEGER, "domain_model_id"),
        *required(TEXT, "unit"),
        *required(INTEGER, "size", "ordinal"),
        *optional(BIGINT, "mask"),
        checks={"unit": "unit IN ('chip', 'server')", "size": "size > 0", "ordinal": "ordinal >= 0"},
        references={"domain_model_id": "domain_model"},
        unique=("domain_model_id", "unit", "size", "ordinal"),
        sqlite_strict=True,
    )
