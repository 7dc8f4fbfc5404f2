import nashpy
import numpy as np

a = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
b = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
np.random.seed(0)  # ties are broken at random
start = (np.array([1, 0, 0]), np.array([0, 1, 0]))
*_, counts = nashpy.Game(a, b).fictitious_play(iterations=999, play_counts=start)
print([side.astype(int).tolist() for side in counts])
