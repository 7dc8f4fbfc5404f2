"""`regrax certify`: the paper's theorems at one size."""

from importlib.util import find_spec
from typing import Literal

from regrax._text import labelled_table
from regrax.cli.options import Hosts, Json
from regrax.cli.shared import print_result, read_learner

CLAIMS = {"claim": "claim", "measured": "measured", "holds": "verdict"}
VERDICTS = {True: "holds", False: "does not hold"}


def certify(
    *,
    actions: int,
    horizon: int,
    architecture: Literal["single", "swap"] = "single",
    step: float | None = None,
    sequences: int = 100_000,
    lemmas: bool = False,
    rigorous: bool = False,
    claim: str | None = None,
    worst_case: bool = False,
    learners: tuple[str, ...] = (),
    seed: int = 0,
    json: Json = False,
    hosts: Hosts = Hosts(),
) -> None:
    """Check the paper's theorems at one size.

    By default, check gradients, curvature and identities by Monte Carlo and
    exact integrals.

    Example uses:
        regrax certify --actions 2 --horizon 10 --sequences 20000
        regrax certify --actions 2 --horizon 20 --rigorous --claim 0.4149

    Args:
        actions: Number of actions d.
        horizon: Number of rounds T.
        architecture: A single softmax head, or the multi-head swap architecture.
        step: Check the gradients at this step size instead of the stationary one.
        sequences: Number of random sequences for the gradients.
        lemmas: Also search for counterexamples to the paper's lemmas.
        rigorous: Only run proofs in ball arithmetic, for two or three actions (needs regrax[rigorous]).
        claim: With --rigorous: digits of k* to prove or refute; exit code 1 if they are not proved.
        worst_case: Only compute the largest regret over all binary loss sequences; with --rigorous, prove it.
        learners: With --worst-case: learner specs; by default Hedge at k* and Optimal with noise 0.68.
        seed: Seed of the random sequences.
    """
    from regrax.paper.certify.claims import WORST_CASES, claims, proofs, proofs_text, worst_cases
    from regrax.sharding import is_first

    rigorous = rigorous or claim is not None
    if rigorous and find_spec("flint") is None:
        raise ValueError('--rigorous needs python-flint: pip install "regrax[rigorous]"')
    title = f"{actions} actions, {horizon} rounds"
    if worst_case:
        players = [read_learner(spec) for spec in learners]
        cases = worst_cases(actions, horizon, players, prove=rigorous)
        text = labelled_table(cases, WORST_CASES, f"all binary losses, {title}")
        print_result(text, json, {"actions": actions, "rounds": horizon, "worst_cases": cases})
        return
    if rigorous:
        proved = proofs(actions, horizon, claim)
        print_result(proofs_text(proved, f"proofs, {title}"), json, proved)
        if proved["verdict"] not in (None, "proved"):
            raise SystemExit(1)
        return
    with hosts.joined() as devices:
        settings = {"architecture": architecture, "step": step, "sequences": sequences}
        settings |= {"lemmas": lemmas, "seed": seed, "devices": devices}
        checked = list(claims(actions, horizon, **settings))
        if is_first():
            result = {"actions": actions, "horizon": horizon, "architecture": architecture}
            result |= {"claims": checked, "holds": all(row["holds"] for row in checked)}
            rows = [{**row, "holds": VERDICTS[row["holds"]]} for row in checked]
            text = labelled_table(rows, CLAIMS, f"{architecture}, {title}")
            print_result(text, json, result)
