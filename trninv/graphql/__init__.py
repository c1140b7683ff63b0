"""The GraphQL API: the schema over the inventory, the catalog and the routing answers, and the service around it."""
