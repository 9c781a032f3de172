"""Holds our reading of the schemas' plain objects against that of another generator."""
