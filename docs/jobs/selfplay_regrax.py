import numpy as np

import regrax as rx

game = rx.games.zero_sum(np.random.default_rng(0).uniform(-1, 1, (10, 10)))
play = rx.play(game, "hedge(0.05)", 10_000)
print(round(float(rx.cce_gap(play.joint, game)), 4))
