"""`regrax certify`: the paper's theorems at one size."""

from importlib.util import find_spec
from typing import Any, Literal

from regrax.cli.hosts import Hosts
from regrax.cli.inputs import Json, read_learner
from regrax.cli.output import print_json, print_table


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
    size = {"actions": actions, "horizon": horizon}
    if rigorous or claim is not None:
        _require_rigorous(actions)
    title = f"{actions} actions, {horizon} rounds"
    if worst_case:
        rows = _worst_cases(actions, horizon, learners, rigorous)
        if json:
            return print_json({"actions": actions, "rounds": horizon, "worst_cases": rows})
        names = ("learner", "regret", "above", "proved")
        cells = [[row.get(name) for name in names] for row in rows]
        columns = ("learner", "worst-case regret, total", "above minimax, %", "proved")
        return print_table(columns, cells, f"all binary losses, {title}")
    if rigorous or claim is not None:
        return _prove(actions, horizon, claim, json)
    with hosts.joined() as devices:
        from regrax.paper.certify.claims import claims
        from regrax.sharding import is_first

        settings = {"architecture": architecture, "step": step, "sequences": sequences}
        checked = list(
            claims(actions, horizon, **settings, lemmas=lemmas, seed=seed, devices=devices)
        )
        if not is_first():
            return None
        if json:
            holds = all(claim["holds"] for claim in checked)
            return print_json(
                {**size, "architecture": architecture, "claims": checked, "holds": holds}
            )
        rows = []
        for row in checked:
            rows.append(
                [row["claim"], row["measured"], "holds" if row["holds"] else "does not hold"]
            )
        return print_table(("claim", "measured", "verdict"), rows, f"{architecture}, {title}")


def _require_rigorous(actions: int) -> None:
    if actions not in (2, 3):
        raise ValueError(f"actions must be 2 or 3 with --rigorous, got {actions}")
    if find_spec("flint") is None:
        raise ValueError('--rigorous needs python-flint: pip install "regrax[rigorous]"')


def _worst_cases(
    actions: int, rounds: int, learners: tuple[str, ...], proved: bool
) -> list[dict[str, Any]]:
    from regrax import certify, theory

    if not learners:
        step = theory.step_size(actions, rounds)
        learners = (f"hedge({step:.6g})", f"optimal({rounds}, 0.68)")
    minimax = theory.minimax(actions, rounds)
    rows: list[dict[str, Any]] = [{"learner": "minimax", "regret": minimax, "above": 0.0}]
    if proved:
        rows[0]["proved"] = str(certify.rigorous_minimax(actions, rounds))
    for spec in learners:
        learner = read_learner(spec)
        worst = theory.worst_case(learner, actions, rounds)
        row = {"learner": spec, "regret": worst.regret, "losses": worst.losses.tolist()}
        row["above"] = 100 * (worst.regret / minimax - 1)
        if proved:
            row["proved"] = certify.rigorous_worst_case(learner, actions, rounds).text
        rows.append(row)
    return rows


def _prove(actions: int, horizon: int, claim: str | None, json: bool) -> None:
    """Print the results proved in ball arithmetic; exit with code 1 if the claim is not proved."""
    from regrax.paper.certify import rigorous_certificate, three_action_step

    result: dict[str, Any] = {"actions": actions, "horizon": horizon}
    if actions == 3:
        step = three_action_step(horizon)
        result["step"] = step.text
        rows = [["k*, the only root of L' within 0.1 %", step.text]]
    else:
        proof = rigorous_certificate(horizon)
        step = proof.step
        low, high = proof.only_root_on
        result |= {
            "step": step.text,
            "only_root_on": [low, high],
            "loss": proof.loss.text,
            "optimal_loss": proof.optimal_loss.text,
            "eigenvalues": [[name, enclosure.text] for name, enclosure in proof.eigenvalues],
            "is_minimum": proof.is_minimum,
        }
        rows = [
            [f"k*, the only root of L' from {low:.6g} to {high:.6g}", step.text],
            ["L(k*), total", proof.loss.text],
            ["L*, total", proof.optimal_loss.text],
        ]
        rows += [[f"eigenvalue ({name})", text] for name, text in result["eigenvalues"]]
        minimum = "proved" if proof.is_minimum else "not proved"
        rows.append(["k* is a strict local minimum up to symmetry", minimum])
    result |= {"claim": claim, "verdict": None if claim is None else step.verdict(claim)}
    if claim is not None:
        rows.append([f"k* = {claim}, to one unit of its last digit", result["verdict"]])
    if json:
        print_json(result)
    else:
        title = f"proofs, {actions} actions, {horizon} rounds"
        print_table(("quantity or claim", "enclosure or verdict"), rows, title)
    if result["verdict"] not in (None, "proved"):
        raise SystemExit(1)
