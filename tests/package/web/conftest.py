"""What the tests of the server share."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log of the server."""
    caplog.set_level(logging.INFO, "acp_bindings.http")
    return caplog
