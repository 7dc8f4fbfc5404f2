"""`regrax explore`: the interactive explorer."""

from regrax.cli.options import Output
from regrax.cli.shared import print_result, write_text


def explore(
    game: str | None = None, /, *, port: int = 8421, no_browser: bool = False, out: Output = None
) -> None:
    """Open the interactive explorer in a browser.

    Example uses:
        regrax explore weighted-rps
        regrax explore chicken --out chicken.html

    Args:
        game: Spec or file of the game to open with.
        port: Port on 127.0.0.1; 0 picks any free port.
        no_browser: Serve the page without opening a browser.
        out: Write the page to this file instead; it works offline and without a server.
    """
    import webbrowser

    from regrax.games import read_game
    from regrax.show.explorer import Server, page

    text = page(None if game is None else read_game(game))
    if out is not None:
        write_text(out, text)
        print_result(f"wrote {out}, {len(text.encode()) / 1000:.0f} kB")
        return
    with Server(text, port) as server:
        print(f"regrax explorer at {server.url} (press Ctrl-C to stop)", flush=True)
        if not no_browser:
            webbrowser.open(server.url)
        server.serve_forever()
