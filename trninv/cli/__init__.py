"""The command line: each module has one group of commands, and is imported only when one of them runs."""
