from pathlib import Path

import regrax as rx

rx.games.coordination(players=3).save("three.nfg")
game = rx.games.load(Path("three.nfg"))
print(len(game.players), len(rx.pure_equilibria(game)))
