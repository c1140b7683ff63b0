"""HTTP service: the explorer (a web page), the GraphQL API, reports, SQL and exports; the only package that knows HTTP.

`trninv serve` runs the application that `application.create_app` builds; each route module has its `ROUTES`.
"""
