import regrax as rx

game = rx.games.bimatrix([[3, 0, 2], [0, 3, 2], [1, 1, 1]], [[3, 0, 1], [0, 3, 1], [2, 2, 0]])
for nash in rx.nash_equilibria(game):
    print([side.round(4).tolist() for side in nash.marginals], nash.payoffs.round(4).tolist())
