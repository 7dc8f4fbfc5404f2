"""`regrax explore`: the explorer in a browser, served on this machine only, or written to a file."""

from dataclasses import dataclass

from regrax._settings import Output, Positional


@dataclass(frozen=True)
class Explore:
    """Open the explorer in a browser: learning in games, moved by hand.

    Args:
        game: The game to open with: a spec, as in weighted-rps, or a .json, .npz or .nfg file.
        port: Where to listen on 127.0.0.1; 0 takes any free port.
        browser: Only serve the page, open no browser.
        out: Write the page to this file instead; it works from disk, with no server and no network.

    regrax explore weighted-rps
    """

    game: Positional[str | None] = None
    port: int = 8421
    browser: bool = True
    out: Output | None = None

    def run(self) -> None:
        """Write the page, or serve it until Ctrl-C."""
        from regrax._files import write_output
        from regrax.cli._text import read_game, say
        from regrax.show.explorer import page

        text = page(None if self.game is None else read_game(self.game))
        if self.out is None:
            self._serve(text)
        else:
            write_output(self.out, text.encode())
            say(f"wrote {self.out}, {len(text.encode()) / 1000:.0f} kB")

    def _serve(self, text: str) -> None:
        import webbrowser

        from regrax.show.explorer import Server

        with Server(text, self.port) as server:
            print(f"regrax explorer at {server.url} (Ctrl-C stops it)", flush=True)
            if self.browser:
                webbrowser.open(server.url)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print("stopped")
