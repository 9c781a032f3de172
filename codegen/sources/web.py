"""Sources on the web: a schema file, or an npm package's .tgz, fetched within limits of size, time and redirects.

`urllib.request` does it: one GET of a public file needs no pool, no HTTP/2 and so no dependency. Its openers come with
handlers for file:, ftp: and data:, and follow redirects by themselves; the one here knows http and https only, and each
step is checked before it is taken.
"""

from __future__ import annotations

import http.client
import ipaddress
import posixpath
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import Future
from typing import Final
from urllib.parse import SplitResult, unquote, urldefrag, urljoin, urlsplit

from codegen import __version__
from codegen.errors import CodegenError, fail
from codegen.sources import limits
from codegen.sources.archive import read_package
from codegen.sources.layout import Fetched, profile_of

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 64 * 2**10
_PAGE: Final = frozenset({"text/html", "application/xhtml+xml"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_ALLOWED: Final = "an https:// URL, or http:// to this machine's loopback"


def from_url(source: str, profile: str | None) -> Fetched:
    """Fetch a schema file or an npm package's tarball; which it is, its first bytes say.

    The URL that was given is recorded, not where redirects led.
    """
    url = urldefrag(source).url
    parts = _checked(url, source)
    data = _download(url, source)
    if data.startswith(_GZIP):
        version, files = read_package(data, source)
        return Fetched(url, version, files)
    folder, name = posixpath.split(unquote(parts.path))
    return Fetched(url, "unknown", {profile_of(posixpath.basename(folder), name, profile, source): data})


def _checked(url: str, source: str) -> SplitResult:
    """The parts of a URL that may be fetched."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise fail(source, f"no valid URL ({error})", _ALLOWED) from None
    if not url.isascii() or not url.isprintable() or " " in url:
        raise fail(source, f"characters that no URL has, in {url!r:.200}", "them percent-encoded")
    if parts.username is not None or parts.password is not None:
        raise fail(source.replace(parts.netloc, "..."), "a URL with a user name in it", "one that may be recorded")
    if parts.scheme not in ("https", "http") or (parts.scheme == "http" and not _is_loopback(host)) or not host:
        raise fail(source, f"{parts.scheme}://{host}", _ALLOWED)
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _download(url: str, source: str) -> bytes:
    """The file at `url`, redirects followed, within DOWNLOAD_TIMEOUT.

    In a thread that may be left behind: a socket's timeout starts anew with each byte, and looking up a name has none,
    so a server that drips could hold us for days.
    """
    done: Future[bytes] = Future()

    def run() -> None:
        try:
            done.set_result(_followed(url, source, time.monotonic() + limits.DOWNLOAD_TIMEOUT))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="acp-codegen download", daemon=True).start()
    try:
        return done.result(limits.DOWNLOAD_TIMEOUT)
    except TimeoutError:
        raise _too_slow(source) from None


def _too_slow(source: str) -> CodegenError:
    return fail(source, "a download that goes on and on", f"its end within {limits.DOWNLOAD_TIMEOUT:g} seconds")


def _followed(url: str, source: str, deadline: float) -> bytes:
    for _ in range(limits.MAX_REDIRECTS + 1):
        request = urllib.request.Request(url, headers={"User-Agent": f"acp-codegen/{__version__}"})
        try:
            with _opener(url).open(request, timeout=limits.CONNECT_TIMEOUT) as response:
                if response.status not in _REDIRECTS:
                    return _body(response, source, deadline)
                target = urljoin(url, response.headers.get("Location") or "")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _fault(source, error) from None
        _check_redirect(url, target, source)
        url = target
    raise fail(source, f"more than {limits.MAX_REDIRECTS} redirects", "the file itself")


def _opener(url: str) -> urllib.request.OpenerDirector:
    """What speaks http and https and nothing else, and takes answers as they are: redirects and errors too."""
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.HTTPHandler())
    opener.add_handler(urllib.request.HTTPSHandler())
    if not _is_loopback(urlsplit(url).hostname or ""):
        opener.add_handler(urllib.request.ProxyHandler())
    return opener


def _check_redirect(url: str, target: str, source: str) -> None:
    try:
        parts = _checked(target, source)
    except CodegenError as error:
        raise fail(source, f"a redirect to {error.diagnostics[0].found}", error.diagnostics[0].expected) from None
    # What lies on this machine is none of the web's business.
    if _is_loopback(parts.hostname or "") and not _is_loopback(urlsplit(url).hostname or ""):
        raise fail(source, f"a redirect to {parts.scheme}://{parts.hostname}", "one that stays off this machine")


def _body(response: http.client.HTTPResponse, source: str, deadline: float) -> bytes:
    """The whole body of an answer that is a file."""
    if response.status != 200:
        raise fail(source, f"HTTP status {response.status} {response.reason[:80]!r}", "200 and a file")
    kind = response.headers.get_content_type()
    if kind in _PAGE:
        raise fail(source, f"a page ({kind})", "a JSON schema, or an npm package's .tgz: the file itself, as raw text")
    coding = response.headers.get("Content-Encoding", "identity")
    if coding != "identity":
        raise fail(source, f"the content encoding {coding[:80]!r}, which was not asked for", "the file as it is")
    length = response.length
    data = bytearray()
    # `read1`, as `read` would wait for a whole chunk of what drips.
    while piece := response.read1(_CHUNK):
        data += piece
        limit = limits.MAX_ARCHIVE_SIZE if data.startswith(_GZIP) else limits.MAX_SCHEMA_SIZE
        if max(len(data), length or 0) > limit:
            raise fail(source, "an oversized file", f"at most {limit} bytes")
        if time.monotonic() > deadline:
            raise _too_slow(source)
    if length is not None and len(data) < length:
        raise fail(source, f"{len(data)} of {length} bytes, then the end", "the whole file")
    return bytes(data)


def _fault(source: str, error: Exception) -> CodegenError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        found = f"no answer from the server within {limits.CONNECT_TIMEOUT:g} seconds"
    else:
        found = f"no way to fetch it ({(str(reason) or type(reason).__name__)!r:.200})"
    return fail(source, found, "a reachable web server, or the file saved by hand and its path")
