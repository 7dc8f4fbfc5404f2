import regrax as rx

figure = rx.plots.plot_phase("matching-pennies", "hedge(0.1)")
figure.savefig("portrait.png")
print(len(figure.axes))
