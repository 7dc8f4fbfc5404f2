import pygambit

a, b = [[3, 0, 2], [0, 3, 2], [1, 1, 1]], [[3, 0, 1], [0, 3, 1], [2, 2, 0]]
game = pygambit.StrategicGame.from_arrays(a, b)
for nash in pygambit.nash.enummixed_solve(game, rational=False).equilibria:
    print(nash, nash.payoffs)
