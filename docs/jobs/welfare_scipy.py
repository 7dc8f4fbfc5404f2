import numpy as np
from scipy.optimize import linprog

u = np.array([[[6, 2], [7, 0]], [[6, 7], [2, 0]]], float)
rows = []
for n in range(2):
    for told in range(2):
        own = np.moveaxis(u[n], n, 0)
        row = np.zeros((2, 2))
        row[told] = own[1 - told] - own[told]
        rows.append(np.moveaxis(row, 0, n).ravel())
found = linprog(-u.sum(0).ravel(), rows, [0] * 4, np.ones((1, 4)), [1], bounds=(0, 1))
joint = found.x.reshape(2, 2)
print((u * joint).sum((1, 2)).round(4).tolist(), joint.round(4).tolist())
