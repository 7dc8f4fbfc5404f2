import numpy as np

rng = np.random.default_rng(0)
policies, losses = rng.dirichlet(np.ones(3), 1000), rng.random((1000, 3))
swapped = policies.T @ losses
print(round(float((np.diag(swapped) - swapped.min(1)).sum()), 6))
