import regrax as rx

games = [rx.games.random(5, 5, seed=seed) for seed in range(100)]
print(sum(rx.solve(game, "nash").check("nash") for game in games))
