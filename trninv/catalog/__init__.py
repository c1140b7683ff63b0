"""Load what documents state: sources, facts with their readings, and hardware models; check derived numbers.

The catalog is the TOML files in seed/catalog. A fact is one number as one source states it; a model is a kind of chip,
server, domain, link or switch, whose numbers are facts.
"""
