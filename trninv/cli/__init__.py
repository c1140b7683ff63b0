"""The command line: one module a group of commands, each imported only when one of its commands runs."""
