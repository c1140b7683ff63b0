"""The command line: `main` imports the module of a command only when the command is used."""
