"""Ready answers to an agent's questions for permission.

    async with agent.session(cwd, permissions=permissions.remember(ask_the_user)) as session: ...

A policy is any function, async or not, that is given the request and returns one of its options, the option's id, or
None for none of them.
"""

from .runtime.sessions.permissions import Policy, allow_always, allow_once, reject, remember

__all__ = ["Policy", "allow_always", "allow_once", "reject", "remember"]
