"""A session's configuration options, in the words of either version."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET


def config_id_of(option: Any) -> Any:
    """An option's id, which the versions spell differently."""
    return option.config_id if hasattr(option, "config_id") else getattr(option, "id", None)


def fits(option: Any, value: Any) -> bool:
    """Whether a value is one that an option can have: one on its list, or a boolean."""
    listed = getattr(option, "options", None)
    if listed is None:
        return isinstance(value, bool) and isinstance(getattr(option, "current_value", None), bool)
    return any(value == one.value for entry in listed for one in getattr(entry, "options", [entry]))


def knows_switches(initialized: Any) -> bool:
    """Whether a client of version 1 takes boolean options."""
    found = initialized
    for step in ("client_capabilities", "session", "config_options", "boolean"):
        found = getattr(found, step, None)
    return found is not None and found is not UNSET
