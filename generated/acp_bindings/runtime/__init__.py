"""The hand-written half of the package: the codec that every profile shares."""
