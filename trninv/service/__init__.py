"""HTTP service: the explorer, the GraphQL API, reports, SQL and exports. No other room knows HTTP."""
