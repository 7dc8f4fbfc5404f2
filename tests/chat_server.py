"""A chat server on this machine for tests: honest, slow, broken or hostile."""

import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def server(respond, host="127.0.0.1", port=0, answered=None):
    """A chat endpoint; `respond(handler, question)` writes the answer, which is added to `answered`."""
    requests = []
    answered = [] if answered is None else answered

    class Handler(BaseHTTPRequestHandler):
        status = 0

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, dict(self.headers), body))
            with suppress(OSError):  # the client hangs up, as it should
                respond(self, body["messages"][-1]["content"])
                answered.extend([body] * (self.status == 200))

        def send_response(self, code, message=None):
            self.status = code
            super().send_response(code, message)

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer((host, port), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://{host}:{httpd.server_port}", requests
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def send(handler, data, status=200, kind="application/json", headers=()):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def say(handler, text, **more):
    send(handler, json.dumps({"choices": [{"message": {"content": text}}], **more}).encode())
