"""Schema files as facts: read, checked, stripped of prose, pinned by the lock."""
