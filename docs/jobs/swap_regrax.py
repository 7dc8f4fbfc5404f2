import numpy as np

import regrax as rx

rng = np.random.default_rng(0)
policies, losses = rng.dirichlet(np.ones(3), 1000), rng.random((1000, 3))
print(round(float(rx.swap_regret(policies, losses)), 6))
