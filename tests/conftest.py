"""Settings for all tests: random ones draw the same values every time and take as long as they take."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Worker processes send what tests have logged as UTF-8, which some of it, on purpose, is not."""
    report = yield
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]
    return report
