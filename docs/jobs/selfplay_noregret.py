import numpy as np
from noregret.regret_minimizers import MultiplicativeWeightsUpdate

payoffs = np.random.default_rng(0).uniform(-1, 1, (10, 10))
row, column = (MultiplicativeWeightsUpdate(10, 0.05) for _ in range(2))
joint = np.zeros((10, 10))
for _ in range(10_000):
    x, y = row.next_strategy(), column.next_strategy()
    row.observe_utility(payoffs @ y)
    column.observe_utility(-x @ payoffs)
    joint += np.outer(x, y) / 10_000
value = (joint * payoffs).sum()
gaps = (payoffs @ joint.sum(0)).max() - value, (-joint.sum(1) @ payoffs).max() + value
print(round(float(max(gaps)), 4))
