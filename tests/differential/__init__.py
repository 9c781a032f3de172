"""Holds `decode` against the validators of the reference TypeScript SDK: `python -m tests.differential --help`."""
