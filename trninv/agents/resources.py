"""Read the resources: what is at an address, facts, the glossary, the schema, and the evidence for an answer."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from graphql import GraphQLInputObjectType, get_named_type, print_type

from trninv.agents.runner import Caller, Runner
from trninv.agents.tool import all_tools
from trninv.agents.tool_list import suggest_tool
from trninv.errors import NotFoundError, UsageError
from trninv.graphql import graphql_schema
from trninv.settings import resource_directory

SCHEME: Final = "trninv"
FIXED: Final[Mapping[str, str]] = {
    "glossary": "The terms: what a domain, a rack, a bisection or a pool is.",
    "schema": "The GraphQL schema, for the tool graphql.",
}
"""Resources without parameters, by path."""
TEMPLATES: Final[Mapping[str, str]] = {
    "address/{address}": "What is at an address, such as prod/d3/s1/c5.",
    "facts/{subject}": "The facts about a model, such as trn2, with their sources and quotes.",
    "tool/{name}": "A tool's full description and arguments, such as placements or chips.",
    "schema/{type}": "One type of the GraphQL schema, such as ChipFilter.",
    "explain/{tool}{?arguments}": "The evidence for an answer; a tool's answer has its address.",
}
"""Resources with parameters, by path."""
_GLOSSARY: Final = "docs/explanation/glossary.md"
_FACTS: Final = (
    "query($subject: String!) { facts(subject: $subject, first: 200) { nodes { attribute value unit asWritten quote "
    "picked disputed differsIn note assumed source { slug title publisher date } } } }"
)


async def read_resource(uri: str, runner: Runner, caller: Caller) -> tuple[str, str]:
    """Return the text of a resource and its media type.

    Raises
    ------
    NotFoundError
        There is no such resource.

    """
    content: Mapping[str, Any]
    parts = urlsplit(uri)
    kind, name = parts.netloc, unquote(parts.path.removeprefix("/"))
    if parts.scheme != SCHEME:
        raise NotFoundError(f"{uri!r:.80} is no resource; resources start with {SCHEME}://")
    match kind, bool(name):
        case "glossary", False:
            return (resource_directory() / _GLOSSARY).read_text(encoding="utf-8"), "text/markdown"
        case "schema", False:
            return graphql_schema.schema().as_str(), "text/plain"
        case "schema", True:
            return _print_type(name), "text/plain"
        case "tool", True:
            content = _describe_tool(name, caller)
        case "facts", True:
            content = await runner.run_document(_FACTS, {"subject": name}, caller)
        case "address", True:
            content = await runner.answer(all_tools()["resolve"], {"address": name}, caller)
        case "explain", True:
            content = await _explain(name, parts.query, runner, caller)
        case _:
            raise NotFoundError(f"{uri!r:.80} is no resource; there are {', '.join((*FIXED, *TEMPLATES))}")
    return json.dumps(content, ensure_ascii=False), "application/json"


async def _explain(name: str, query: str, runner: Runner, caller: Caller) -> Mapping[str, Any]:
    tool = all_tools().get(name)
    if tool is None or tool.is_change:
        raise NotFoundError(f"there is no question {name!r:.40}")
    try:
        arguments = json.loads(parse_qs(query).get("arguments", ["{}"])[0])
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise UsageError("arguments is not a JSON object")
    return await runner.explain(tool, arguments, caller)


def _describe_tool(name: str, caller: Caller) -> Mapping[str, Any]:
    tool = all_tools().get(name)
    if tool is None or not caller.allows(tool.scope):
        raise NotFoundError(f"there is no tool {name!r:.40}; {suggest_tool(name, caller.allows)}")
    types = {kind.name: kind for kind in (get_named_type(argument.type) for argument in tool.field.args.values())}
    inputs = [print_type(kind) for kind in types.values() if isinstance(kind, GraphQLInputObjectType)]
    return {"name": name, "description": tool.description, "inputSchema": tool.input_schema, "types": inputs}


def _print_type(name: str) -> str:
    graphql_type = graphql_schema.core_schema(graphql_schema.schema()).get_type(name)
    if graphql_type is None:
        raise NotFoundError(f"the schema has no type {name!r:.40}; read {SCHEME}://schema")
    return print_type(graphql_type)
