import numpy as np
from noregret.regret_minimizers import MultiplicativeWeightsUpdate

payoffs = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]]) / 3


class LastBest:
    def __init__(self, actions):
        self.now = np.ones(actions) / actions

    def next_strategy(self):
        return self.now

    def observe_utility(self, utility):
        self.now = np.eye(len(utility))[utility.argmax()]


row, column, total = LastBest(3), MultiplicativeWeightsUpdate(3, 0.1), 0.0
for _ in range(1000):
    x, y = row.next_strategy(), column.next_strategy()
    total += x @ payoffs @ y / 1000
    row.observe_utility(payoffs @ y)
    column.observe_utility(-x @ payoffs)
print(round(float(total), 4))
