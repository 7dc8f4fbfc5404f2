"""`regrax explore`: the file it writes, and the server of its page on this machine."""

import http.client
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest

from regrax.cli import main
from regrax.show.explorer import Server

COMMAND = [sys.executable, "-m", "regrax", "explore"]


@pytest.fixture
def served():
    """Serve a short text in a thread."""
    with Server("<p>hello", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, method="GET", path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_it_serves_its_page_with_strict_headers(served):
    answer, body = ask(served)
    assert (answer.status, body) == (200, b"<p>hello")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    answer, body = ask(served, "HEAD", host=f"localhost:{served.port}")
    assert (answer.status, body) == (200, b"")


@pytest.mark.parametrize("sent", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: x", b"\xff\r\n\r\n"])
def test_an_interrupted_request_prints_nothing(served, sent, capfd):
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(sent)
        reset = struct.pack("ii", 1, 0)  # close without waiting: the server's next read fails
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    assert ask(served)[0].status == 200
    assert capfd.readouterr().err == ""


REJECTED = {
    404: ("path", ["/etc/passwd", "/../", "/index.html", "/%2e%2e/"]),
    421: ("host", ["evil.example", "127.0.0.1", "evil.example:80", "127.0.0.1:1"]),
    501: ("method", ["POST", "PUT", "DELETE", "OPTIONS"]),
}


@pytest.mark.parametrize("status", REJECTED)
def test_other_requests_are_rejected(served, status):
    assert served.server_address[0] == "127.0.0.1"
    name, values = REJECTED[status]
    for value in values:
        answer, body = ask(served, **{name: value})
        assert answer.status == status, value
        assert b"hello" not in body


def test_the_command_serves_and_stops_on_interrupt():
    arguments = [*COMMAND, "chicken", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        line = running.stdout.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        body = connection.getresponse().read()
        connection.close()
        running.send_signal(signal.SIGINT)
        watchdog = threading.Timer(60, running.kill)
        watchdog.start()
        complaints = running.communicate()[1]
        watchdog.cancel()
    assert body.startswith(b"<!doctype html>")
    assert running.returncode == 130
    assert complaints.count("\n") == 1


def test_a_busy_port_prints_one_line(capsys, as_users_run_it):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit, match="2"):
            main(["explore", "--port", str(taken.getsockname()[1]), "--no-browser"])
    assert re.fullmatch(
        r"regrax: error: port \d+ cannot be used: address already in use\n",
        capsys.readouterr().err,
    )


def test_the_page_is_written_to_a_file(tmp_path, capsys):
    out = tmp_path / "explorer.html"
    main(["explore", "--out", str(out)])
    assert capsys.readouterr().out.startswith(f"wrote {out}, ")
    assert out.read_text().startswith("<!doctype html>")


def test_a_game_too_large_for_the_page_prints_one_line(capsys, as_users_run_it):
    with pytest.raises(SystemExit, match="2"):
        main(["explore", "kuhn-poker"])
    assert "2 or 3 players with at most 6 actions each, got kuhn-poker" in capsys.readouterr().err
