"""Matches over unions: type checkers insist on the unknown case. Read by tests/package/test_typing.py, never run.

The comments at the ends of lines are the errors that each checker must report there, and nowhere else.
"""

from typing import assert_never, assert_type

from acp_bindings import v1, v2


def complete(block: v2.ContentBlock) -> str:
    match block:
        case v2.TextContent(text=text):
            return text
        case v2.ImageContent() | v2.AudioContent():
            return block.data
        case v2.ResourceLink(uri=uri):
            return uri
        case v2.EmbeddedResource():
            return "embedded"
        case v2.UnknownContentBlock():
            return block.tag
        case _:
            assert_never(block)


def forgets_the_unknown(block: v2.ContentBlock) -> str:
    match block:
        case v2.TextContent(text=text):
            return text
        case v2.ImageContent() | v2.AudioContent():
            return block.data
        case v2.ResourceLink(uri=uri):
            return uri
        case v2.EmbeddedResource():
            return "embedded"
        case _:
            assert_type(block, v2.UnknownContentBlock)
            assert_never(block)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def forgets_a_known_one(block: v2.ContentBlock) -> str:
    if isinstance(block, v2.TextContent | v2.ImageContent | v2.AudioContent | v2.ResourceLink):
        return "known"
    if isinstance(block, v2.UnknownContentBlock):
        return block.tag
    assert_type(block, v2.EmbeddedResource)
    assert_never(block)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def returns_nothing_for_the_unknown(answer: v2.CreateElicitationResponse) -> str:  # type: ignore[return]  # pyright: ignore[reportReturnType]
    match answer:  # pyright: ignore[reportMatchNotExhaustive]
        case v2.AcceptElicitationResponse():
            return "yes"
        case v2.DeclineElicitationResponse() | v2.CancelElicitationResponse():
            return "no"


def closed_union_has_no_unknown(outcome: v1.RequestPermissionOutcome) -> str:
    if isinstance(outcome, v1.SelectedPermissionOutcome):
        return outcome.option_id
    return type(outcome).__name__


def nested_union_has_all_leaves(update: v2.SessionUpdate) -> str:
    match update:
        case v2.IdleStateUpdate(stop_reason="end_turn"):
            return "done"
        case v2.IdleErrorStateUpdate(error=v2.Error(message=message)):
            return message
        case v2.UnknownSessionUpdate() | v2.UnrecognizedStateUpdate() | v2.UnknownIdleStateUpdate():
            return update.tag
        case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
            return text
        case _:
            return ""
