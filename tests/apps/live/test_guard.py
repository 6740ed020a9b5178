"""Who may ask the lab, from which page, and what a page may do. Each law fails when its defence is taken away."""

import io
import re
from base64 import b64encode

import numpy as np
import pytest
from starlette.testclient import TestClient

from keyhole.apps.live.app import make_app
from keyhole.apps.live.guard import Doorkeeper
from keyhole.apps.live.limits import BODY, UPLOAD
from keyhole.apps.live.run import open_socket
from keyhole.apps.live.screens.base import Serving
from keyhole.errors import ArgumentError

PORT = 8437
OWN = f"http://127.0.0.1:{PORT}"
SESSION = "session"
COOKIE = f"keyhole_session_{PORT}"
SAME_ORIGIN = {"Origin": OWN, "Sec-Fetch-Site": "same-origin"}
CHANGING = ["/begin/sweeps/start", "/begin/model/prove", "/jobs/1/cancel", "/give/image"]


@pytest.fixture
def serving(tmp_path):
    """A server with an empty store."""
    return Serving(tmp_path / "store")


@pytest.fixture
def doorkeeper():
    """Its doorkeeper."""
    return Doorkeeper(SESSION, PORT)


@pytest.fixture
def stranger(serving, doorkeeper):
    """A browser that has not been let in."""
    with TestClient(make_app(serving, doorkeeper), base_url=OWN, follow_redirects=False) as client:
        yield client


@pytest.fixture
def friend(stranger):
    """A browser that has the session's cookie."""
    stranger.cookies.set(COOKIE, SESSION, domain="127.0.0.1")
    return stranger


@pytest.fixture
def pixels():
    """A small image, as numpy.save writes it."""
    content = io.BytesIO()
    np.save(content, np.arange(36, dtype=np.uint8).reshape(6, 6))
    return content.getvalue()


@pytest.mark.parametrize(
    "path", ["/", "/variable", "/ask/variable/variable", "/static/lab.js", "/jobs", "/watch/sweeps", "/give/image"]
)
def test_nothing_is_shown_without_the_cookie(stranger, path):
    """Without the session's cookie every address answers 401 and a sentence."""
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert "keyhole serve" in answer.text


@pytest.mark.parametrize("value", ["", "x", "a" * 43])
def test_another_cookie_is_no_cookie(stranger, value):
    """A cookie of the right name with another value lets nobody in."""
    assert stranger.get("/jobs", headers={"Cookie": f"{COOKIE}={value}"}).status_code == 401


def test_the_cookie_of_another_lab_is_no_cookie(stranger):
    """Cookies know no ports: another lab on this machine has a cookie of another name, which opens nothing here."""
    other = f"keyhole_session_{PORT + 1}"
    assert stranger.get("/jobs", headers={"Cookie": f"{other}={SESSION}"}).status_code == 401
    both = f"{other}=x; {COOKIE}={SESSION}"
    assert stranger.get("/jobs", headers={"Cookie": both}).status_code == 200


def test_the_printed_address_opens_one_browser(stranger, doorkeeper):
    """The token is turned into a cookie once; the same address does not let a second browser in."""
    token = doorkeeper.new_token()
    opened = stranger.get(f"/variable?formula=x1&token={token}")
    assert opened.status_code == 303
    assert opened.headers["location"] == "/variable?formula=x1"
    stranger.cookies.clear()
    assert stranger.get(f"/variable?token={token}").status_code == 401


def test_the_cookie_is_kept_from_scripts_and_from_other_sites(stranger, doorkeeper):
    """The cookie is HttpOnly and SameSite=Lax."""
    given = stranger.get(f"/?token={doorkeeper.new_token()}").headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=lax" in given


def test_a_token_leads_to_no_other_server(stranger, doorkeeper):
    """A path that begins like another server's address stays on this one."""
    sent = stranger.get(f"{OWN}//evil.example/x?token={doorkeeper.new_token()}").headers["location"]
    assert re.match(r"/[^/\\]", sent)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8437", "127.0.0.1.evil.example", "", "[::2]:8437", "192.0.2.1"]
)
def test_another_host_is_refused(friend, host):
    """A name that is pointed at the loopback (DNS rebinding) is refused, cookie or not."""
    assert friend.get("/jobs", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1:8437", "localhost:8437", "[::1]:8437", "localhost"])
def test_this_machine_is_answered(friend, host):
    """The names of the loopback are answered."""
    assert friend.get("/jobs", headers={"Host": host, "Cookie": f"{COOKIE}={SESSION}"}).status_code == 200


@pytest.mark.parametrize("path", CHANGING)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {**SAME_ORIGIN, "Origin": "https://evil.example"},
        {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_other_pages_change_nothing(friend, path, headers):
    """A request that changes something is refused unless it comes from a page of this server, cookie or not."""
    assert friend.post(path, json={}, headers=headers).status_code == 403
    assert friend.get("/jobs").json()["jobs"] == []


def test_an_image_of_another_page_is_not_kept(friend, serving, pixels):
    """A whole image is refused unless it comes from a page of this server, and as JSON; nothing is written of it."""
    spelled = b64encode(pixels).decode()
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        assert friend.post("/give/image", json={"image": spelled}, headers=headers).status_code == 403
    raw = {**SAME_ORIGIN, "Content-Type": "image/png"}
    assert friend.post("/give/image", content=pixels, headers=raw).status_code == 403
    assert not serving.store.exists()


@pytest.mark.parametrize("path", CHANGING)
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""])
def test_a_form_changes_nothing(friend, kind, path):
    """Only JSON changes something: no form of another page can send it without being asked first."""
    answer = friend.post(path, content=b"{}", headers={**SAME_ORIGIN, "Content-Type": kind})
    assert answer.status_code == 403


@pytest.mark.parametrize("path", CHANGING)
def test_reading_changes_nothing(friend, path):
    """An address that changes something does not answer to GET."""
    assert friend.get(path).status_code == 405


@pytest.mark.parametrize("body", [b"", b"[]", b"1", b"{", b'{"task": {"a": 1}}', b"[" * 50_000, b"\xff"])
def test_what_is_no_object_is_refused(friend, body):
    """A body that is no JSON object of plain values is refused."""
    headers = {**SAME_ORIGIN, "Content-Type": "application/json"}
    assert friend.post("/begin/sweeps/start", content=body, headers=headers).status_code == 400


def test_a_long_body_is_cut_off(friend):
    """A body beyond the limit is not read to its end, and starts nothing; nor does an object with much behind it."""
    headers = {**SAME_ORIGIN, "Content-Type": "application/json"}
    start = b'{"task": "and:3", "contexts": "20", "learner": "elimination"'
    for parts in ([start, b" " * BODY, b"}"], [start + b"}", b" " * BODY, b" "]):
        answer = friend.post("/begin/sweeps/start", content=iter(parts), headers=headers)
        assert answer.status_code == 400
    assert friend.get("/jobs").json()["jobs"] == []


def test_an_image_is_kept_by_its_content(friend, serving, pixels):
    """An image gets the name of its content, whatever else is sent, and is the one file of its folder."""
    sent = {"image": b64encode(pixels).decode(), "name": "../../evil.py", "path": "/etc/passwd"}
    answers = [friend.post("/give/image", json=sent, headers=SAME_ORIGIN).json()["image"] for _ in range(2)]
    assert answers[0] == answers[1]
    assert re.fullmatch(r"[0-9a-f]{32}", answers[0])
    written = [path.relative_to(serving.store).as_posix() for path in serving.store.rglob("*") if path.is_file()]
    assert written == [f"lab-images/{answers[0]}/image.npy"]


@pytest.mark.parametrize(
    "content",
    [b"", b"GIF89a", b"<svg onload=alert(1)>", b"\x93NUMPY", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"PK\x03\x04"],
)
def test_what_is_no_image_is_refused_and_not_kept(friend, serving, content):
    """Neither a PNG nor a JPEG nor an array, or one that ends early: a sentence, and no file."""
    given = {"image": b64encode(content).decode()}
    refused = friend.post("/give/image", json=given, headers=SAME_ORIGIN).json()["refused"]
    assert refused.startswith("The image ")
    assert not serving.store.exists()


@pytest.mark.parametrize("given", [{}, {"image": "%%%"}, {"image": "AAA"}, {"image": 7}, {"picture": "AAAA"}])
def test_an_image_is_spelled_in_letters(friend, serving, given):
    """What is no image in base 64 is refused."""
    answer = friend.post("/give/image", json=given, headers=SAME_ORIGIN)
    assert answer.status_code == 400 or "refused" in answer.json()
    assert not serving.store.exists()


def test_only_an_image_may_be_long_and_not_too_long(friend, serving, pixels):
    """A body beyond the usual limit is read at one address alone, and there up to a limit of its own."""
    headers = {**SAME_ORIGIN, "Content-Type": "application/json"}
    spelled = b64encode(pixels)

    def send(path, padding):
        parts = iter([b'{"image": "', spelled, b'"', b" " * padding, b"}"])
        return friend.post(path, content=parts, headers=headers)

    assert send("/begin/sweeps/start", BODY).status_code == 400
    assert send("/give/image", UPLOAD).status_code == 400
    assert not serving.store.exists()
    assert send("/give/image", BODY).status_code == 200


@pytest.mark.parametrize("path", ["/variable", "/static/lab.js", "/ask/variable/variable", "/nothing/here", "/jobs"])
def test_every_answer_has_the_policy(friend, path):
    """Scripts come from this server alone; none stands in the text, none is made from text; no page frames the lab."""
    headers = friend.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["form-action"] == policy["base-uri"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "name", ["..%2Fapp.py", "../app.py", "%2e%2e/settings.py", "lab.css%00.js", "/etc/passwd", "none.js"]
)
def test_no_path_from_the_browser(friend, name):
    """Only files of the package's own folder are served, by their names."""
    answer = friend.get(f"/static/{name}")
    assert answer.status_code == 404


def test_typed_text_never_becomes_markup(friend):
    """A formula with markup in it comes back as JSON text, and no page has it."""
    evil = "<img src=x onerror=alert(1)>"
    answer = friend.get("/ask/variable/variable", params={"formula": evil})
    assert answer.headers["content-type"] == "application/json"
    assert "refused" in answer.json()
    assert evil not in friend.get("/variable", params={"formula": evil}).text


def test_a_port_in_use_is_refused():
    """A second server on one port is refused."""
    with open_socket(0) as first, pytest.raises(ArgumentError, match="cannot be used"):
        open_socket(first.getsockname()[1])
