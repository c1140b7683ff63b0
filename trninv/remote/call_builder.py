"""Build the calls of a fleet's methods from their declarations."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from trninv.errors import UsageError
from trninv.history.point_in_time import Time
from trninv.inventory.change import Change, coerce_value
from trninv.inventory.parameter import Parameter
from trninv.remote.exchange import Call, GraphqlCall, JobCall, ReportCall, ReportListCall, RowsCall
from trninv.remote.json_codec import encode
from trninv.remote.remote_method import find_method
from trninv.routing.question import Question
from trninv.routing.scenario import Scenario


@dataclass(frozen=True, slots=True)
class CallBuilder:
    """Builds calls of a service at a time, and in a scenario.

    Arguments that equal their default are not sent: the service may be too old to know them. Neither is what only
    callers of a database pass, such as an executor; the service decides how it computes an answer.
    """

    service: str
    time: str | None = None
    scenario: Scenario | None = None

    def at(self, time: Time) -> "CallBuilder":
        """Return a builder for calls at another time."""
        return replace(self, time=time.isoformat() if isinstance(time, datetime) else str(time))

    def in_scenario(self, scenario: Scenario) -> "CallBuilder":
        """Return a builder for calls in a scenario, combined with the present one."""
        return replace(self, scenario=scenario.merge(self.scenario))

    def question(self, question: Question, *arguments: Any, **keywords: Any) -> Call:
        """Return the call that asks a question; a value that its parameter does not allow raises as in `ask`."""
        passed = question.signature.bind(*arguments, **keywords).arguments
        call = self._build(question.name, _declared(question, passed, Parameter.coerce))
        if not question.job_mutation:
            return call
        if ignored := [name for name in ("executor", "journal") if passed.get(name) is not None]:
            raise UsageError(f"a service runs {question.name} itself; omit {' and '.join(ignored)}")
        progress = {"progress": passed["progress"]} if "progress" in passed else {}
        return JobCall(self.service, call.method, call.body, call.result_type, is_retried=False, **progress)

    def change(self, change: Change[..., Any], *arguments: Any, dry_run: bool, **keywords: Any) -> Call:
        """Return the call that makes a change; ``who`` may be omitted, as the service knows the token's name."""
        passed = change.signature.bind_partial(*arguments, **keywords).arguments
        author = {name: passed[name] for name in ("who", "why") if passed.get(name)}
        return self._build(change.name, {**_declared(change, passed, coerce_value), **author, "dry_run": dry_run})

    def reading(self, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Call:
        """Return the call that runs a reading."""
        signature = inspect.signature(method)
        _, *passed = signature.bind(None, *arguments, **keywords).arguments.items()
        return self._build(
            method.__name__, {name: value for name, value in passed if value != signature.parameters[name].default}
        )

    def rows(self, language: str, query: str, parameters: Mapping[str, Any] | None = None) -> RowsCall:
        """Return the call that runs a query in a language, "sql" or "cypher"."""
        if self.scenario is not None:
            raise UsageError(f"{language} can't see a scenario; call it on the fleet without one")
        content = {language: query} | ({"parameters": parameters} if parameters else {})
        return self._rows_call(language, content)

    def listing(self, kind: str, options: Mapping[str, Any]) -> RowsCall:
        """Return the call that lists things of a kind."""
        return self._rows_call(f"list/{quote(kind, safe='')}", options)

    def report(self, name: str, parameters: Mapping[str, str]) -> ReportCall:
        """Return the call that runs a report."""
        query = urlencode({**parameters, **({} if self.time is None else {"at": self.time})})
        return ReportCall(self.service, f"reports/{quote(name, safe='')}.json?{query}", b"", None, is_retried=True)

    def report_list(self) -> ReportListCall:
        """Return the call that lists the reports."""
        return ReportListCall(self.service, "reports", b"", None, is_retried=True)

    def graphql(self, document: str, variables: Mapping[str, Any]) -> GraphqlCall:
        """Return the call that runs a GraphQL document; it may change something, so it is not sent again."""
        content = {"query": document, "variables": variables, **({} if self.time is None else {"at": self.time})}
        return GraphqlCall(self.service, "graphql", json.dumps(content).encode(), None, is_retried=False)

    def _rows_call(self, method: str, content: Mapping[str, Any]) -> RowsCall:
        body = json.dumps({**content, "at": self.time}).encode()
        return RowsCall(self.service, method, body, None, is_retried=True)

    def _build(self, name: str, arguments: Mapping[str, Any]) -> Call:
        method = find_method(name)
        if method is None:
            raise UsageError(f"{name} needs the database itself; a service does not offer it")
        content: dict[str, Any] = {"arguments": {key: encode(value) for key, value in arguments.items()}}
        if self.time is not None:
            content["at"] = self.time
        if self.scenario is not None:
            content["scenario"] = encode(self.scenario)
        body = json.dumps(content).encode()
        return Call(self.service, name, body, method.result_type, is_retried=not method.is_change)


def _declared(
    declaration: Question | Change[..., Any], passed: Mapping[str, Any], coerce: Callable[[Parameter, Any], Any]
) -> dict[str, Any]:
    """Return the declared arguments that differ from their defaults, converted to the types of their parameters."""
    declared = {}
    for parameter in declaration.parameters:
        value = passed.get(parameter.name)
        if value is None:
            continue
        convert = partial(coerce, parameter)
        value = convert(value)
        if parameter.is_required or parameter.default is None or value != convert(parameter.default):
            declared[parameter.name] = value
    return declared
