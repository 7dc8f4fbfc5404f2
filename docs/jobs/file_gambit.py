import pygambit

text = (
    'NFG 1 R "three" { "1" "2" "3" } { 2 2 2 }\n1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1\n'
)
with open("three.nfg", "w") as file:
    file.write(text)
game = pygambit.read_nfg("three.nfg")
print(len(game.players), len(pygambit.nash.enumpure_solve(game).equilibria))
