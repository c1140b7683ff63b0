"""What machines and their managers report: one file a source, each turned into servers as they were seen.

The design and its states stay as they are; what was seen is kept beside them (tables ``observation``,
``observed_server``, ``observed_chip``, ``observed_link``).
"""
