"""GraphQL API: the schema over inventory, catalog and routing answers, and the execution of requests."""
