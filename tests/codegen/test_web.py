"""URLs as sources, against a server on loopback: what is fetched, and one clear error for each that cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codegen.errors import CodegenError, Diagnostic
from codegen.sources import fetch, limits, web
from tests.support.packages import ALL, BY_PROFILE, package
from tests.support.web import Answer, Send, Server, plain, redirect, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def refusal(url: str, profile: str | None = None) -> Diagnostic:
    with pytest.raises(CodegenError) as raised:
        fetch(url, profile)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.found.isprintable() and diagnostic.expected
    return diagnostic


def refused(server: Server, answer: Answer) -> str:
    server.answers["/v2/schema.json"] = answer
    return str(refusal(server.url("/v2/schema.json")))


# What is fetched


@pytest.mark.parametrize(
    ("path", "profile"),
    [
        ("/v1/schema.json", "v1/stable"),
        ("/a/b/v2/schema.json", "v2/stable"),
        ("/main/schema/v2/schema.unstable.json?raw=true", "v2/unstable"),
        ("/%76%32/schema.json", "v2/stable"),
    ],
)
def test_schema_file(server: Server, path: str, profile: str) -> None:
    server.answers[path] = plain(body=b"{}", headers={"Content-Type": "text/plain; charset=utf-8"})
    fetched = fetch(server.url(path))
    assert (fetched.source, fetched.version, fetched.files) == (server.url(path), "unknown", {profile: b"{}"})


def test_fragment_is_neither_sent_nor_recorded(server: Server) -> None:
    server.answers["/v2/schema.json"] = plain(body=b"{}")
    assert fetch(server.url("/v2/schema.json#/$defs/A")).source == server.url("/v2/schema.json")
    assert server.asked == ["/v2/schema.json"]


def test_profile_that_is_given(server: Server) -> None:
    server.answers["/latest"] = plain(body=b"{}")
    assert fetch(server.url("/latest"), "v2/unstable").files == {"v2/unstable": b"{}"}
    assert "--profile" in refusal(server.url("/latest")).expected


def test_package(server: Server) -> None:
    """Told by its first bytes, whatever it is called and whatever type the server gives it."""
    server.answers["/pkg"] = plain(body=package(ALL), headers={"Content-Type": "application/octet-stream"})
    fetched = fetch(server.url("/pkg"))
    assert (fetched.source, fetched.version, fetched.files) == (server.url("/pkg"), "7.8.9", BY_PROFILE)
    assert fetch(server.url("/pkg"), "v2/stable").files == {"v2/stable": b"2s"}


def test_body_without_a_length(server: Server) -> None:
    server.answers["/v2/schema.json"] = plain(body=b"{}", headers={"Content-Length": ""})
    assert fetch(server.url("/v2/schema.json")).files == {"v2/stable": b"{}"}


def test_body_in_chunks(server: Server) -> None:
    chunks = b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}
    server.answers["/v2/schema.json"] = plain(body=chunks, headers=headers)
    assert fetch(server.url("/v2/schema.json")).files == {"v2/stable": b"{}"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(server: Server, status: int) -> None:
    server.answers |= {
        "/v2/schema.json": redirect("there", status),
        "/v2/there": redirect(server.url("/at/last"), status),
        "/at/last": plain(body=b"{}"),
    }
    fetched = fetch(server.url("/v2/schema.json"))
    # What was asked for is recorded: where it lies today may be somewhere else tomorrow.
    assert (fetched.source, fetched.files) == (server.url("/v2/schema.json"), {"v2/stable": b"{}"})


def test_loopback_goes_by_no_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server.answers["/v2/schema.json"] = plain(body=b"{}")
    assert fetch(server.url("/v2/schema.json")).files == {"v2/stable": b"{}"}


# URLs that are not even asked


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/v2/schema.json",
        "http://10.0.0.1/v2/schema.json",
        "http://localhost.example.com/v2/schema.json",
        "ftp://example.com/v2/schema.json",
        "file:///etc/passwd",
        "data://text/plain,{}",
        "https:///v2/schema.json",
        "https://[::1/v2/schema.json",
        "https://example.com:x/v2/schema.json",
        "https://example.com:99999/v2/schema.json",
        "https://example.com/v2/sch ema.json",
        "https://example.com/v2/\x1b[31m.json",
        "https://example.com/v2/sch\r\nX-Evil: 1/schema.json",
        "https://exämple.com/v2/schema.json",
    ],
)
def test_url_that_may_not_be_fetched(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_download", None)
    assert refusal(url)


def test_password_is_not_repeated() -> None:
    found = refusal("https://me:secret@example.com/v2/schema.json")
    assert "user name" in found.found and "secret" not in str(found)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_loopback_needs_no_https(host: str) -> None:
    assert "no way to fetch it" in refusal(f"http://{host}:1/v2/schema.json").found


# Answers that are no file


@pytest.mark.parametrize("status", [204, 206, 304, 401, 404, 429, 500, 503])
def test_status(server: Server, status: int) -> None:
    found = refused(server, plain(status, b"{}" if status not in (204, 304) else b""))
    assert f"HTTP status {status} 'Said So'" in found


def test_page(server: Server) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8"}
    assert "a page (text/html)" in refused(server, plain(body=b"<html>", headers=headers))


def test_encoding_that_was_not_asked_for(server: Server) -> None:
    assert "'br'" in refused(server, plain(body=b"{}", headers={"Content-Encoding": "br"}))


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("file:///etc/passwd", "a redirect to file://"),
        ("http://example.com/v2/schema.json", "a redirect to http://example.com"),
        ("ftp://example.com/", "a redirect to ftp://example.com"),
        ("//user:secret@example.com/", "a redirect to a URL with a user name"),
        ("http://[", "no way to fetch it"),
    ],
)
def test_redirect_to_elsewhere(server: Server, target: str, found: str) -> None:
    assert found in refused(server, redirect(target))
    assert server.asked == ["/v2/schema.json"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])
def test_redirect_from_the_web_to_this_machine(host: str) -> None:
    with pytest.raises(CodegenError, match="one that stays off this machine"):
        web._check_redirect("https://example.com/a", f"https://{host}/b", "https://example.com/a")


def test_redirects_in_a_circle(server: Server) -> None:
    assert "more than 5 redirects" in refused(server, redirect("schema.json"))
    assert len(server.asked) == 6


def test_redirect_to_nowhere(server: Server) -> None:
    assert "more than 5 redirects" in refused(server, redirect(""))


def test_tls_that_is_none(server: Server) -> None:
    found = refusal(server.url("/v2/schema.json").replace("http:", "https:"))
    assert "no way to fetch it" in found.found and "SSL" in found.found


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00\xff\n\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
    ],
    ids=["nothing", "noise", "no status", "headers", "long header", "no chunk", "half a chunk"],
)
def test_no_http(server: Server, raw: bytes) -> None:
    assert "no way to fetch it" in refused(server, lambda send: send(raw))


def test_body_cut_short(server: Server) -> None:
    assert "2 of 100 bytes" in refused(server, plain(body=b"{}", headers={"Content-Length": "100"}))


def test_package_cut_short(server: Server) -> None:
    assert "cannot be unpacked" in refused(server, plain(body=package(ALL)[:-40]))


# Too much, too slow


def test_announced_size(server: Server) -> None:
    headers = {"Content-Length": str(200 * 2**20)}
    assert f"at most {16 * 2**20} bytes" in refused(server, plain(body=b"{", headers=headers))


@pytest.mark.parametrize(("start", "limit"), [(b"{", 1000), (b"\x1f\x8b", 2000)])
def test_endless_body(server: Server, monkeypatch: pytest.MonkeyPatch, start: bytes, limit: int) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEMA_SIZE", 1000)
    monkeypatch.setattr(limits, "MAX_ARCHIVE_SIZE", 2000)

    def endless(send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\n\r\n" + start)
        while not server.left.is_set():
            send(b" " * 2000)

    assert f"at most {limit} bytes" in refused(server, endless)


def test_silence(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 0.2)
    assert "no answer from the server within 0.2 seconds" in refused(server, lambda send: wait(server))


def test_silence_in_the_middle(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 0.2)

    def half(send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        wait(server)

    assert "no answer from the server within 0.2 seconds" in refused(server, half)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["header", "body"])
def test_slow_drip(server: Server, monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    """Each byte comes well before the server counts as silent, so only the limit on the whole can end it."""
    monkeypatch.setattr(limits, "DOWNLOAD_TIMEOUT", 0.5)

    def drip(send: Send) -> None:
        send(head)
        while not server.left.wait(0.01):
            send(b" ")

    assert "its end within 0.5 seconds" in refused(server, drip)


def wait(server: Server) -> None:
    server.left.wait(30)
