"""The stream of requests and answers: in order, of any size, and never stuck."""

from collections.abc import Iterator

import pytest

from .node import Answer, Request, ask, install

pytestmark = pytest.mark.npm

LARGE = 3_000_000  # characters, many times what a pipe holds


@pytest.fixture(autouse=True, scope="module")
def sdk() -> None:
    install()


def text(value: str) -> Request:
    return Request("v2/stable", "TextContent", {"text": value})


def test_answers_come_in_the_order_of_the_requests() -> None:
    asked = [text(str(number)) for number in range(3000)]
    assert [(request, answer.value) for request, answer in ask(asked)] == [(one, one.value) for one in asked]


def test_a_value_may_be_larger_than_a_pipe_and_hold_line_separators() -> None:
    asked = [text("x" * LARGE), text("a\u2028b\u2029c\u0085d\n"), text("y" * LARGE)]
    assert [answer.value for _, answer in ask(asked)] == [one.value for one in asked]


def test_a_refusal_says_where_and_why() -> None:
    ((_, answer),) = ask([Request("v2/stable", "TextContent", {"text": 5})])
    assert answer == Answer(False, None, ((("text",), "Invalid input: expected string, received number"),))


def test_the_caller_may_stop_early() -> None:
    def endless() -> Iterator[Request]:
        while True:
            yield text("x" * 1000)

    answers = ask(endless())
    assert next(answers)[1].ok
    answers.close()


def test_an_error_in_the_source_of_requests_reaches_the_caller() -> None:
    def broken() -> Iterator[Request]:
        yield text("a")
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        list(ask(broken()))


def test_a_definition_that_the_sdk_does_not_have_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no validator for Nothing of v2/stable"):
        list(ask([Request("v2/stable", "Nothing", 1), *[text("x" * 1000)] * 1000]))


def test_the_end_of_node_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)status 1: .*unknown profile"):
        list(ask([text("a"), Request("v9/stable", "TextContent", 1), *[text("x" * 1000)] * 1000]))
