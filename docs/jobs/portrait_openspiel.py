import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import pyspiel
from open_spiel.python.egt import dynamics, utils
from open_spiel.python.egt.visualization import Dynamics2x2Axes  # registers the projection

game = pyspiel.load_matrix_game("matrix_mp")
table = utils.game_payoffs_array(game)
flow = dynamics.MultiPopulationDynamics(table, dynamics.replicator)
axes = plt.figure().add_subplot(projection="2x2")
axes.quiver(flow)
plt.savefig("portrait.png")
print(len(plt.gcf().axes))
