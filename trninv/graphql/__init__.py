"""GraphQL API: the schema over inventory, catalog and routing answers, and the execution of requests.

`trninv.service` calls `api.Api`, which knows nothing of HTTP. The schema is built in `graphql_schema`; modules named
`…_fields` and `…_types` define its parts, and `compiler` turns documents into SQL.
"""
