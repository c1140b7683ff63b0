"""Schemathesis' documents against the schema, in process: never an internal error."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.graphql import nodes
from starlette.testclient import TestClient

from trninv.service.app import app
from trninv.settings import Settings

ADDRESSES = ["u-trn2x64/d0/s0/c3", "u-trn2x64", "trn1.32xlarge/d0/s0", "trn3-gen1/r1", "nowhere", "a--b", "??"]

schemathesis.graphql.scalar("Address", st.sampled_from(ADDRESSES).map(nodes.String))
schemathesis.graphql.scalar("BigInt", st.integers(-5, 2**70).map(str).map(nodes.String))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_document_that_the_schema_allows_fails(lite: str) -> None:
    made = app(lite, Settings(database_url=lite, log="off", request_seconds=5, max_cost=20_000))
    with TestClient(made, base_url="http://127.0.0.1") as client:
        document = schemathesis.graphql.from_asgi("/graphql", made, headers={"Host": "127.0.0.1"})

        @settings(max_examples=25, suppress_health_check=list(HealthCheck))
        @given(document.as_strategy())
        def check(case: schemathesis.Case[Any]) -> None:
            answer = client.post("/graphql", json={"query": case.body})
            assert answer.status_code == 200, answer.text
            codes = [error["extensions"]["code"] for error in answer.json().get("errors", ())]
            assert "INTERNAL" not in codes

        check()
