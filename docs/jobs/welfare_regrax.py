import regrax as rx

best = rx.solve("chicken", "ce", "welfare")
print(best.payoffs.round(4).tolist(), best.joint.round(4).tolist())
