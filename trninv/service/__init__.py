"""The HTTP service: the explorer, the GraphQL API, reports, SQL and exports. The only room that knows HTTP."""
