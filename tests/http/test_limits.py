"""What no client should send is refused, whoever sends it."""

from http_server import require_problem, serving
from tables import each_row

HEAD = "POST /v1/records HTTP/1.1\r\nHost: {}:{}\r\nAuthorization: Bearer {}\r\n"


def test_a_huge_body_is_refused(served, ana):
    """Whether it says how long it is or not."""
    body = b'{"content": "' + b"x" * served.memory.settings.http.body_size + b'"}'
    for content in (body, iter([body[:40_000], body[40_000:]])):
        told = require_problem(ana.post("/v1/records", content=content), 413)
        assert "http.body_size" in told["detail"]
    with served.client() as nobody:
        require_problem(nobody.post("/v1/records", content=body), 413)


def test_a_slow_body_is_given_up():
    """A client that sends half a body gets an answer, and its connection ends."""
    with serving(http={"body_seconds": 0.2}) as served:
        head = HEAD.format(*served.place(), served.token()) + "Content-Length: 9\r\n\r\n{"
        with served.connect(head.encode()) as slow, slow.makefile("rb") as answer:
            told = answer.read().decode()
    assert told.startswith("HTTP/1.1 408")
    assert "http.body_seconds" in told


def test_a_compressed_body_is_not_unpacked(ana):
    """It is refused, however small it is: nothing is to grow here."""
    answer = ana.post("/v1/records", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert "Content-Encoding" in require_problem(answer, 415)["detail"]


@each_row
def test_foreign_names_are_refused(served, ana, header, value, status):
    """A page elsewhere can ask neither under its own name nor by one that it had rebound.

    Host   | evil.example          | 421
    Host   | evil.example:PORT     | 421
    Host   | 127.0.0.1:1           | 421
    Host   | memory.example.org    | 200
    Host   | LOCALHOST:PORT        | 200
    Origin | https://evil.example  | 403
    Origin | null                  | 403
    Origin | https://app.example.org | 200
    Origin | http://127.0.0.1:PORT | 200
    """
    value = value.replace("PORT", str(served.place()[1]))
    answer = ana.get("/v1/records", headers={header: value})
    assert answer.status_code == int(status), answer.text
    if answer.status_code != 200:
        require_problem(answer, int(status))


def test_a_session_of_a_browser_has_the_rate_of_a_token():
    """Its pages are refused beyond the rate, as what a token asks; its cookie opens no API."""
    with serving(http={"rate": 2}) as served:
        with served.client(None, Origin=served.url) as ana:
            ana.post("/sign-in", data={"token": served.token("ana")})
            require_problem(ana.get("/v1/records"), 401)
            answers = [ana.get("/settings") for _ in range(8)]
            assert answers[0].status_code == 403
            require_problem(answers[-1], 429)
        with served.client(served.token("ana")) as token:
            assert token.get("/v1/records").status_code == 200


def test_a_token_that_asks_too_often_is_told_to_wait():
    """Beyond its rate it is refused until later, while another token is answered."""
    with (
        serving(http={"rate": 2}) as served,
        served.client(served.token("ana")) as ana,
        served.client(served.token("ben")) as ben,
    ):
        answers = [ana.get("/v1/records") for _ in range(8)]
        assert answers[0].status_code == 200
        require_problem(answers[-1], 429)
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert ben.get("/v1/records").status_code == 200
