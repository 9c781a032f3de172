"""Settings for all tests: random ones draw the same values every time and take as long as they take."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
