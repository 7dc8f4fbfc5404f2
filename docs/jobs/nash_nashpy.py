import nashpy
import numpy as np

a, b = np.array([[3, 0, 2], [0, 3, 2], [1, 1, 1]]), np.array([[3, 0, 1], [0, 3, 1], [2, 2, 0]])
game = nashpy.Game(a, b)
for row, column in game.vertex_enumeration():
    print([row.round(4).tolist(), column.round(4).tolist()], game[row, column].round(4).tolist())
