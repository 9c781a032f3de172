"""When a prompt's work is over, read off updates and the answer, in every order. Facts S, version 2."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from acp_bindings import v2
from acp_bindings.runtime.sessions.ending import Ending, stop_reason_of

RUNNING = ("running",)
ASKING = ("requires_action",)
DONE = ("idle", "end_turn")
STOPPED = ("idle", "cancelled")
SNAPSHOT = ("idle", None)
ANSWER = ("answer", "m")
MESSAGE = ("user_message", "m")
CHUNK = ("user_message_chunk", "m")
OTHERS = ("user_message", "other")
TEXT = {"type": "text", "text": ""}
Event = tuple[Any, ...]


def update(kind: str, of: Any = None) -> Any:
    wire: dict[str, Any] = {
        "sessionUpdate": kind,
        "messageId": of,
        "content": TEXT if kind.endswith("chunk") else [TEXT],
    }
    if "message" not in kind:
        wire = {"sessionUpdate": "state_update", "state": kind, "stopReason": of}
    return v2.convert(wire, v2.SessionUpdate)


def end(*events: Event, busy: bool = False, tells: bool = False) -> int | None:
    """At which event, counted from 1, the turn was over."""
    ending = Ending(busy, tells)
    for number, (kind, *rest) in enumerate(events, 1):
        if kind == "answer":
            ending.answered(*rest)
        else:
            ending.saw(update(kind, *rest))
        if ending.is_over:
            return number
    return None


@pytest.mark.parametrize("message", [MESSAGE, CHUNK])
def test_any_order_of_what_a_turn_has(message: Event) -> None:
    """Message, answer, and `running` before `idle`: the last of answer and `idle` ends it."""
    for events in itertools.permutations([message, ANSWER, RUNNING, DONE]):
        at = {event: number for number, event in enumerate(events, 1)}
        if at[DONE] < at[RUNNING]:
            continue
        # An `idle` before the message is in the conversation ended something else.
        foreign = at[DONE] < at[message] < at[ANSWER]
        assert end(*events) == (None if foreign else max(at[ANSWER], at[DONE])), events


def test_a_turn_that_waits_for_the_user() -> None:
    assert end(MESSAGE, ANSWER, RUNNING, ASKING, RUNNING, DONE) == 6
    assert end(MESSAGE, ANSWER, ASKING, DONE) == 4
    # It may end without having gone on.
    assert end(MESSAGE, ASKING, STOPPED, ANSWER) == 4


def test_idle_without_a_reason_ends_work() -> None:
    assert end(MESSAGE, ANSWER, RUNNING, SNAPSHOT) == 4
    assert end(MESSAGE, RUNNING, SNAPSHOT, ANSWER) == 4


@pytest.mark.parametrize("snapshot", [SNAPSHOT, DONE])
def test_a_repeated_idle_is_no_end(snapshot: Event) -> None:
    """An agent that says `running` has not begun: it only tells something else anew, such as its background work."""
    assert end(MESSAGE, ANSWER, snapshot, RUNNING, DONE, tells=True) == 5
    assert end(snapshot, MESSAGE, snapshot, ANSWER, snapshot, RUNNING, snapshot, tells=True) == 7
    assert end(MESSAGE, RUNNING, DONE, snapshot, ANSWER, tells=True) == 5
    assert end(MESSAGE, ANSWER, snapshot, tells=True) is None


def test_an_agent_that_never_says_running() -> None:
    """It should, but its reasons are enough to go by. Decision W."""
    assert end(MESSAGE, ANSWER, DONE) == 3
    assert end(MESSAGE, DONE, ANSWER) == 3
    assert end(ANSWER, DONE) == 2
    assert end(MESSAGE, ANSWER, SNAPSHOT) is None
    assert end(MESSAGE, ANSWER, SNAPSHOT, DONE) == 4


def test_a_prompt_that_is_taken_up_while_other_work_goes_on() -> None:
    # Steered into what runs: one `idle` ends both.
    assert end(MESSAGE, ANSWER, DONE, busy=True, tells=True) == 3
    assert end(MESSAGE, DONE, ANSWER, busy=True, tells=True) == 3
    assert end(ANSWER, MESSAGE, DONE, busy=True, tells=True) == 3
    # Held until that is over.
    assert end(DONE, MESSAGE, ANSWER, RUNNING, DONE, busy=True, tells=True) == 5
    assert end(DONE, ANSWER, MESSAGE, RUNNING, DONE, busy=True, tells=True) == 5
    assert end(DONE, MESSAGE, RUNNING, DONE, ANSWER, busy=True, tells=True) == 5
    assert end(DONE, RUNNING, MESSAGE, ANSWER, DONE, busy=True, tells=True) == 5
    # The other prompts' messages are not its own.
    assert end(OTHERS, DONE, MESSAGE, ANSWER, RUNNING, DONE, busy=True, tells=True) == 6
    assert end(OTHERS, RUNNING, DONE, ANSWER, RUNNING, DONE, busy=True, tells=True) == 6


def test_work_that_the_agent_began_by_itself() -> None:
    # Before the prompt is there: a hook, a follow-up of something in the background.
    assert end(RUNNING, MESSAGE, ANSWER, DONE, tells=True) == 4
    assert end(RUNNING, DONE, MESSAGE, ANSWER, RUNNING, DONE, tells=True) == 6
    assert end(RUNNING, DONE, RUNNING, MESSAGE, DONE, ANSWER, tells=True) == 6


def test_states_and_reasons_that_are_not_known() -> None:
    strange = ("_acme.dev/dreaming",)
    assert end(MESSAGE, ANSWER, RUNNING, strange, DONE) == 5
    assert end(MESSAGE, ANSWER, strange, SNAPSHOT) == 4
    assert end(MESSAGE, ANSWER, RUNNING, strange) is None
    bored = ("idle", "_acme.dev/bored")
    assert end(MESSAGE, ANSWER, RUNNING, bored) == 4
    assert stop_reason_of(update(*bored)) == "_acme.dev/bored"
    assert stop_reason_of(update(*DONE)) == "end_turn"
    assert stop_reason_of(update(*SNAPSHOT)) is None


def test_the_idle_that_ended_it_is_kept() -> None:
    ending = Ending(busy=False, tells=False)
    ending.answered("m")
    for kind, *rest in (RUNNING, STOPPED, RUNNING, DONE):
        ending.saw(update(kind, *rest))
    assert stop_reason_of(ending.idle) == "cancelled"
