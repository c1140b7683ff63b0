"""Define wiring patterns, one per file, each as ``PATTERN``; a new file is a new pattern and is listed nowhere else."""
