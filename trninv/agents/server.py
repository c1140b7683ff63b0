"""Speak the Model Context Protocol with the mcp package, over any transport.

A change needs a confirmation: of the user, if the client can ask one (elicitation), or else a second call with the plan
that the first returned. The plan is a digest of the change and its result, so that nothing else is carried out.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from trninv import __version__
from trninv.agents.prompts import INSTRUCTIONS, PROMPTS
from trninv.agents.resources import FIXED, SCHEME, TEMPLATES, read_resource
from trninv.agents.runner import Caller, Runner, ToolError, describe_failure, paged
from trninv.agents.tool import AT, PLAN, Tool, all_tools
from trninv.agents.tool_list import (
    KIND,
    LIST,
    describe_briefly,
    describe_list,
    find_kind,
    listed_kinds,
    listed_tools,
    suggest_tool,
)
from trninv.agents.wording import in_words_of_tools
from trninv.errors import ForbiddenError, NotFoundError, StalePlanError, TrninvError, UsageError

Context = ServerRequestContext[Any, Any]
FindCaller = Callable[[Context], Caller]
_PAGE: Final = {"page": {"type": "integer"}}
_AT: Final = {AT: {"type": "string"}}
_TEXT_TOOLS: Final[Mapping[str, tuple[str, str, Mapping[str, Any], str]]] = {
    "sql": (
        "sql",
        "Run one read-only SELECT over the tables and views; views are called v_chip, v_server, v_link and so on.",
        {"sql": {"type": "string", "description": "SELECT address, state FROM v_chip WHERE state <> 'up'"}},
        "sql",
    ),
    "graphql": (
        "read",
        "Run a GraphQL query, for what no other tool answers; resource trninv://schema has the schema.",
        {
            "query": {"type": "string", "description": "{ clusters { nodes { slug } } }"},
            "variables": {"type": "object", "description": "Values of its variables."},
        },
        "query",
    ),
}
"""By name: the scope, description, arguments and required argument of a tool that takes a text in a language."""
_QUESTION: Final = "confirm"
_NO_VALUES: Final = {"type": "object", "properties": {}}


def build_server(runner: Runner, find_caller: FindCaller) -> Server[Any]:
    """Return the server of a runner's fleet; `find_caller` tells who sends a request."""
    handlers = _Handlers(runner, find_caller)
    return Server(
        "trninv",
        version=__version__,
        title="trninv",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class _Handlers:
    def __init__(self, runner: Runner, find_caller: FindCaller) -> None:
        self._runner, self._find_caller = runner, find_caller

    async def list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return the tools that the caller's scope allows."""
        caller = self._find_caller(context)
        tools = [
            _describe_tool(tool.name, description, schema, is_change=tool.is_change)
            for tool, description, schema in describe_briefly(listed_tools(caller.allows))
        ]
        list_tool = [_describe_tool(LIST, *describe_list(caller.allows))] if caller.allows("read") else []
        return types.ListToolsResult(tools=[*self._text_tools(caller), *list_tool, *tools])

    def _text_tools(self, caller: Caller) -> list[types.Tool]:
        return [
            _describe_tool(
                name,
                description,
                {"type": "object", "properties": {**arguments, **_AT, **_PAGE}, "required": [required]},
            )
            for name, (scope, description, arguments, required) in _TEXT_TOOLS.items()
            if caller.allows(scope) and (name != "sql" or self._runner.run_sql)
        ]

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool; failures are results in words, so that the agent can correct its call."""
        arguments: Mapping[str, Any] = params.arguments or {}
        tool: Tool | None = None
        try:
            caller = self._find_caller(context)
            if params.name in _TEXT_TOOLS:
                content = await self._run_text(params.name, arguments, caller)
            else:
                tool, arguments = _find_tool(params.name, arguments, caller)
                if tool.is_change:
                    return await self._change(context, tool, params, caller)
                content = await self._runner.answer(tool, arguments, caller)
        except (TrninvError, ToolError) as error:
            return _failed(in_words_of_tools(describe_failure(error), tool))
        return _succeeded(content)

    async def _run_text(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        scope, _, _, required = _TEXT_TOOLS[name]
        _require(caller, name, scope)
        text, as_of, variables = arguments.get(required), arguments.get(AT), arguments.get("variables", {})
        if not isinstance(text, str) or not isinstance(as_of, str | None) or not isinstance(variables, dict):
            raise UsageError(f"{name} takes {required} as text, {AT} as text, and variables as an object")
        if name == "graphql":
            content = await self._runner.run_document(text, variables, caller, as_of)
            return await paged(content["data"], arguments) | {"asOf": content["asOf"]}
        if self._runner.run_sql is None:
            raise UsageError("this service runs no SQL; it has no login for it (TRNINV_SQL_URL)")
        return await paged(await self._runner.run_sql(text, as_of), arguments)

    async def _change(
        self, context: Context, tool: Tool, params: types.CallToolRequestParams, caller: Caller
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = dict(params.arguments or {})
        plan = arguments.pop(PLAN, None)
        preview = await self._runner.preview(tool, arguments, caller)
        if _can_elicit(context):
            responses, message = params.input_responses or {}, json.dumps(preview, ensure_ascii=False)
            if context.session.can_send_request:
                response: Any = await context.session.elicit_form(message, _NO_VALUES, context.request_id)
                # others may have made changes while the user decided
                plan, preview = preview[PLAN], await self._runner.preview(tool, arguments, caller)
            elif _QUESTION not in responses:
                return _ask(message, preview[PLAN])
            else:
                response, plan = responses[_QUESTION], params.request_state
            if getattr(response, "action", None) != "accept":
                return _succeeded({"change": tool.name, "changed": False, "reason": "the user did not agree"})
        elif plan is None:
            hint = f"Nothing has changed. Show this to the user; to carry it out, call again with plan {preview[PLAN]}."
            return _succeeded(preview | {"hint": hint})
        _check_plan(plan, preview)
        return _succeeded(await self._runner.change(tool, arguments, caller))

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Return the resources without parameters."""
        return types.ListResourcesResult(
            resources=[
                types.Resource(name=name, uri=f"{SCHEME}://{name}", description=description)
                for name, description in FIXED.items()
            ]
        )

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the resources with parameters."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(name=path.partition("/")[0], uri_template=f"{SCHEME}://{path}", description=text)
                for path, text in TEMPLATES.items()
            ]
        )

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a resource."""
        caller = self._find_caller(context)
        text, media_type = await _in_words(read_resource(str(params.uri), self._runner, caller))
        contents = types.TextResourceContents(uri=params.uri, mime_type=media_type, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Return the prompts."""
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=name,
                    description=prompt.description,
                    arguments=[
                        types.PromptArgument(name=argument, description=text, required=True)
                        for argument, text in prompt.arguments.items()
                    ],
                )
                for name, prompt in PROMPTS.items()
            ]
        )

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return the instructions of a prompt with the user's values."""
        prompt, values = PROMPTS.get(params.name), params.arguments or {}
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name!r:.40}: there are {', '.join(PROMPTS)}")
        if set(values) != set(prompt.arguments):
            unknown = ", ".join(f"{name!r:.40}" for name in values if name not in prompt.arguments)
            omit = f"; omit {unknown:.200}" if unknown else ""
            raise MCPError(types.INVALID_PARAMS, f"{params.name} needs {' and '.join(prompt.arguments)}{omit}")
        content = types.TextContent(text=prompt.text.format_map(values))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
        )


async def _in_words(reading: Awaitable[tuple[str, str]]) -> tuple[str, str]:
    """Await a resource; translate its failure to an error of the protocol."""
    try:
        return await reading
    except (TrninvError, ToolError) as error:
        raise MCPError(types.INVALID_PARAMS, in_words_of_tools(describe_failure(error), None)) from None


def _find_tool(name: str, arguments: Mapping[str, Any], caller: Caller) -> tuple[Tool, Mapping[str, Any]]:
    """Return the tool of a call, and its arguments: of a list, those of its kind."""
    if name == LIST:
        kind = arguments.get(KIND)
        tool = find_kind(kind) if isinstance(kind, str) else None
        if tool is None:
            complaint = f"{LIST} needs {KIND}" if kind is None else f"{KIND} {kind!r:.60}"
            raise UsageError(f"{complaint}: choose one of {', '.join(listed_kinds())}")
        arguments = {key: value for key, value in arguments.items() if key != KIND}
    else:
        tool = all_tools().get(name)
        if tool is None:
            raise NotFoundError(f"there is no tool {name!r:.60}; {suggest_tool(name, caller.allows)}")
    _require(caller, tool.name, tool.scope)
    return tool, arguments


def _require(caller: Caller, name: str, scope: str) -> None:
    if not caller.allows(scope):
        raise ForbiddenError(f"{name} needs the scope {scope}; this client has {caller.scope}")


def _check_plan(plan: object, preview: Mapping[str, Any]) -> None:
    if plan != preview[PLAN]:
        raise StalePlanError(f"{plan!r:.40} is not the plan of this change as things are now; call without {PLAN}")


def _can_elicit(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _ask(message: str, plan: str) -> types.InputRequiredResult:
    question = types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=_NO_VALUES))
    return types.InputRequiredResult(input_requests={_QUESTION: question}, request_state=plan)


def _describe_tool(name: str, description: str, schema: dict[str, Any], *, is_change: bool = False) -> types.Tool:
    hints = None if is_change else types.ToolAnnotations(read_only_hint=True)  # without hints, it is destructive
    return types.Tool(name=name, description=description, input_schema=schema, annotations=hints)


def _succeeded(content: Mapping[str, Any]) -> types.CallToolResult:
    text = json.dumps(content, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=dict(content))


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)
