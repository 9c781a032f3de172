"""When the work that a prompt set off is over, read off a session's updates (version 2). Pure.

The answer to a prompt says that its message was taken up, not that work on it is done; `idle` says that nothing is
being worked on any more. Which `idle` is a prompt's own is not said: earlier work may still have been going on when it
was sent, `idle` may come before the answer, and snapshots may be repeated.
"""

from __future__ import annotations

from typing import Any

from .rules import activity_of, kind_of


def stop_reason_of(update: Any) -> str | None:
    """The stop reason of an `idle` update, known or not."""
    reason = update.get("stopReason") if isinstance(update, dict) else getattr(update, "stop_reason", None)
    return reason if isinstance(reason, str) else None


class Ending:
    """One prompt's. `busy` is whether other work was going on when it was sent, `tells` whether the agent has ever been
    heard to say that it is at work: every agent should, but one that never does still ends its turns.
    """

    def __init__(self, busy: bool, tells: bool) -> None:
        self.idle: Any = None
        self._busy = busy
        self._at_work = busy
        self._tells = tells
        self._answered = False
        self._steps = 0
        # The last idle before the answer that ended some work, and where; where each user message was first seen.
        self._early: tuple[int, Any] | None = None
        self._seen: dict[str, int] = {}

    @property
    def is_over(self) -> bool:
        return self.idle is not None

    def saw(self, update: Any) -> None:
        """An update came. Once over, `idle` holds the one that ended it."""
        self._steps += 1
        activity = activity_of(update)
        if activity == "idle":
            self._saw_idle(update)
            self._at_work = False
        elif activity is not None:
            # A state that is not known is no rest either. Work has begun since: an idle before it ended something else.
            self._at_work = self._tells = True
            self._early = None
        elif not self._answered and kind_of(update) in ("user_message", "user_message_chunk"):
            self._seen.setdefault(update.message_id, self._steps)

    def _saw_idle(self, update: Any) -> None:
        """A snapshot that ends no work is none; an agent that never says `running` gives its reason at least."""
        if not self._at_work and (self._tells or stop_reason_of(update) is None):
            return
        if self._answered:
            self.idle = self.idle or update
        else:
            self._early = (self._steps, update)

    def answered(self, message_id: str) -> None:
        """The answer's turn has come: the next idle that ends work is the prompt's.

        The answer names the message: an idle after that, or before any other work, may have been the prompt's already.
        """
        self._answered = True
        if self._early is None:
            return
        step, update = self._early
        where = self._seen.get(message_id)
        if where < step if where is not None else not self._busy:
            self.idle = update
