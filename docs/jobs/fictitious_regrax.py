import regrax as rx

start = [[1, 0, 0], [0, 1, 0]]
play = rx.play("shapley", "fictitious_play()", 1000, start=start)
print([side.sum(0).round().astype(int).tolist() for side in play.policies])
