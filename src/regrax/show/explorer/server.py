"""Server for a single page on the loopback address."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Server(ThreadingHTTPServer):
    """Serve `text` at `/`; port 0 picks any free port."""

    def __init__(self, text: str, port: int) -> None:
        self.body = text.encode()
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ValueError(f"port {port} cannot be used: {reason.lower()}") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect in the middle of a request or a response."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def port(self) -> int:
        """Port that the server listens on."""
        return self.server_address[1]

    @property
    def url(self) -> str:
        """Address to open in a browser."""
        return f"http://{HOST}:{self.port}/"


class _Handler(BaseHTTPRequestHandler):
    """Handle GET and HEAD for the page. The Host header must match, which prevents DNS rebinding."""

    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version = "regrax"
    sys_version = ""
    timeout = 5  # seconds to receive a request

    def do_GET(self) -> None:
        """Send the page, or only its headers for HEAD."""
        port = self.server.port
        if self.headers.get("Host", "") not in (f"{HOST}:{port}", f"localhost:{port}"):
            return self.send_error(421, "Misdirected Request")
        if self.path.split("?")[0] != "/":
            return self.send_error(404)
        self.send_response(200)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.server.body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing, because the command prints to the same terminal."""
