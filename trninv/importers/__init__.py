"""Read what tools on machines, and managers of machines such as Kubernetes and EC2, report about servers and jobs.

An import does not change the design or its states. Observations have their own tables: ``observation``,
``observed_server``, ``observed_chip`` and ``observed_link``.
"""
