"""Read what machines and their managers report: one module per source, each yielding observed servers or jobs.

An import does not change the design or its states; observations are stored beside them (tables ``observation``,
``observed_server``, ``observed_chip``, ``observed_link``).
"""
