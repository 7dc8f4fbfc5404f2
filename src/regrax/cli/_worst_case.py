"""`regrax certify --worst-case`: the largest regret over all binary loss sequences, computed or proved."""

from regrax.cli._rigorous import check_rigorous
from regrax.cli._text import print_json, print_table, read_learner


def report(
    actions: int, rounds: int, learners: tuple[str, ...], as_json: bool, proved: bool
) -> None:
    """Print the minimax value and each learner's worst case, with enclosures if `proved`."""
    from regrax import certify, theory

    least = theory.minimax(actions, rounds)
    rows = [{"learner": "minimax", "regret": least}]
    if proved:
        check_rigorous(actions)
        rows[0]["proved"] = str(certify.rigorous_minimax(actions, rounds))
    if not learners:
        step = theory.step_size(actions, rounds)
        learners = (f"hedge({step:.6g})", f"optimal({rounds}, 0.68)")
    for text in learners:
        learner = read_learner(text)
        found = theory.worst_case(learner, actions, rounds)
        rows.append({"learner": text, "regret": found.regret, "losses": found.losses.tolist()})
        if proved:
            rows[-1]["proved"] = certify.rigorous_worst_case(learner, actions, rounds).text
    if as_json:
        return print_json({"actions": actions, "rounds": rounds, "worst_cases": rows})
    table = []
    for row in rows:
        above = f"{100 * (row['regret'] / least - 1):.2f} %"
        table.append(
            [row["learner"], f"{row['regret']:.10g}", above, row.get("proved", "not asked")]
        )
    columns = ("learner", "worst-case regret", "above minimax", "proved")
    return print_table(columns, table, f"all binary losses, {actions} actions, {rounds} rounds")
