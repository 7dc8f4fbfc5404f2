"""`regrax certify --worst-case`: the largest regret over all binary loss sequences, computed or proved."""

from regrax.cli._rigorous import check_rigorous
from regrax.cli._text import print_json, print_table, read_learner


def report(
    actions: int, rounds: int, learners: tuple[str, ...], *, rigorous: bool, as_json: bool
) -> None:
    """Print the minimax value and each learner's worst case, enclosed if `rigorous`."""
    from regrax import certify, theory

    if rigorous:
        check_rigorous(actions)
    if not learners:
        step = theory.step_size(actions, rounds)
        learners = (f"hedge({step:.6g})", f"optimal({rounds}, 0.68)")
    least = theory.minimax(actions, rounds)
    rows = [{"learner": "minimax", "regret": least}]
    if rigorous:
        rows[0]["proved"] = str(certify.rigorous_minimax(actions, rounds))
    for text in learners:
        learner = read_learner(text)
        found = theory.worst_case(learner, actions, rounds)
        row = {"learner": text, "regret": found.regret, "losses": found.losses.tolist()}
        if rigorous:
            row["proved"] = certify.rigorous_worst_case(learner, actions, rounds).text
        rows.append(row)
    if as_json:
        print_json({"actions": actions, "rounds": rounds, "worst_cases": rows})
        return
    table = []
    for row in rows:
        above = f"{100 * (row['regret'] / least - 1):.2f} %"
        table.append(
            [row["learner"], f"{row['regret']:.10g}", above, row.get("proved", "not asked")]
        )
    columns = ("learner", "worst-case regret", "above minimax", "proved")
    print_table(columns, table, f"all binary losses, {actions} actions, {rounds} rounds")
