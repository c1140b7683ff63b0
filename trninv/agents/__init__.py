"""Answer AI agents over the Model Context Protocol (MCP): tools, resources and prompts.

A tool is a field of the GraphQL API: a question, a list or a change. Its schema and description are generated from the
API's schema, and a call runs a GraphQL document, so that costs, limits and scopes are those of the API.
"""
