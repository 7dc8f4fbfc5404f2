from quantecon.game_theory import lemke_howson, random_game

games = [random_game((5, 5), random_state=seed) for seed in range(100)]
print(sum(game.is_nash(lemke_howson(game)) for game in games))
