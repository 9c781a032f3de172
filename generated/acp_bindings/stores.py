"""Where an agent keeps its sessions.

    Echo(store=stores.SqliteStore("sessions.db"))

In memory without one. `SessionStore` is what one of your own has to be.
"""

from .runtime.sessions.stores import MemoryStore, SessionRecord, SessionStore, SqliteStore

__all__ = ["MemoryStore", "SessionRecord", "SessionStore", "SqliteStore"]
