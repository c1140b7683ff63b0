"""Pull what AWS, Kubernetes and Slurm report, and import it: ``trninv discover``.

A provider, one file of `providers`, sends read-only API calls and returns listings. `pull` hands them to the readers of
the declared sources, infers bindings and detects drift, all in one transaction.
"""
