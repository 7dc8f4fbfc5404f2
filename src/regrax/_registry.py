"""One registry, as data: what a spec may name, what it is in a line, and where it lives. Nothing here needs jax.

A line per learner; games are found by the file of the zoo that holds them, whose docstrings describe them.
"""

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """Something that a spec may name."""

    home: str  # package:name, imported when it is asked for; a name alone is in regrax.learners
    about: str = ""  # in a few words
    examples: tuple[str, ...] = ()  # specs of it; the contract tests run on each
    feedback: str = "full"  # or "bandit": what the learner sees
    regret: str = "external"  # or "internal", "swap": what its bound bounds
    check: Callable[..., None] | None = None  # called with its arguments before anything is loaded


LEARNER = "regrax.learners:Learner"
GAME = "regrax.games:Game"
"""The types that specs of learners and of games give."""

LEARNERS = {
    "ada_hedge": Entry(
        "AdaHedge", "Hedge that tunes its own step to the losses it meets", ("ada_hedge()",)
    ),
    "best_response": Entry(
        "BestResponse",
        "the action that was best in the last round, ties shared",
        ("best_response()",),
    ),
    "blum_mansour": Entry(
        "BlumMansour",
        "swap regret from any base: one copy per action, and their fixed point",
        (
            "blum_mansour(hedge(0.9944))",
            "blum_mansour(regret_matching())",
            "blum_mansour(optimistic_hedge(0.5))",
        ),
        regret="swap",
    ),
    "delayed": Entry(
        "Delayed", "any base, its feedback arriving some rounds late", ("delayed(hedge(0.3), 2)",)
    ),
    "discounted_regret_matching": Entry(
        "DiscountedRegretMatching",
        "regret matching that lets old regret fade, negative regret faster",
        ("discounted_regret_matching(2.0, -1.0)",),
    ),
    "doubling_hedge": Entry(
        "DoublingHedge",
        "Hedge restarted in epochs of doubling length, the step fitted to each",
        ("doubling_hedge(2.0)",),
    ),
    "euclidean_ftrl": Entry(
        "EuclideanFTRL",
        "minus the step times past losses, projected onto the simplex or a ball",
        (
            "euclidean_ftrl(0.3)",
            "euclidean_ftrl(inverse_sqrt(0.5))",
            "euclidean_ftrl(0.3, ball(2.0))",
        ),
    ),
    "exp3": Entry(
        "Exp3",
        "bandit: Hedge on importance-weighted losses, with uniform exploration",
        ("exp3(inverse_sqrt(0.5), 0.1)",),
        feedback="bandit",
    ),
    "exp3_ix": Entry(
        "Exp3IX",
        "bandit: Hedge on losses weighed down a little, its implicit exploration",
        ("exp3_ix(0.05, 0.025)",),
        feedback="bandit",
    ),
    "follow_the_leader": Entry(
        "FollowTheLeader",
        "the best action so far, ties shared: fictitious play",
        ("follow_the_leader()",),
    ),
    "follow_the_perturbed_leader": Entry(
        "FollowThePerturbedLeader",
        "the chance that an action leads after Gaussian noise of fixed size",
        ("follow_the_perturbed_leader(3.0)",),
    ),
    "hedge": Entry(
        "Hedge",
        "smoothed fictitious play: softmax of minus the step times past losses",
        ("hedge(0.4479)", "hedge(inverse_sqrt(1.0))", "hedge(per_round(0.5, 0.4, 0.3))"),
    ),
    "importance_weighted": Entry(
        "ImportanceWeighted",
        "bandit: any base on importance-weighted losses, with exploration",
        ("importance_weighted(ada_hedge(), 0.2)",),
        feedback="bandit",
    ),
    "internal_regret_matching": Entry(
        "InternalRegretMatching",
        "from each action flow to others in proportion to positive regret",
        ("internal_regret_matching()",),
        regret="internal",
    ),
    "online_gradient_descent": Entry(
        "OnlineGradientDescent",
        "a gradient step from the last policy, projected onto the simplex",
        ("online_gradient_descent(inverse_sqrt(0.5))",),
    ),
    "optimistic_hedge": Entry(
        "OptimisticHedge",
        "Hedge that counts the last loss twice, as a forecast of the next",
        ("optimistic_hedge(0.3)",),
    ),
    "predictive_regret_matching_plus": Entry(
        "PredictiveRegretMatchingPlus",
        "regret matching plus that expects the last round to come again",
        ("predictive_regret_matching_plus()",),
    ),
    "regret_matching": Entry(
        "RegretMatching", "play in proportion to positive regret", ("regret_matching()",)
    ),
    "regret_matching_plus": Entry(
        "RegretMatchingPlus",
        "regret matching that forgets negative regret",
        ("regret_matching_plus()",),
    ),
    "stoltz_lugosi": Entry(
        "StoltzLugosi",
        "Hedge over replacements of one action by another, and its fixed point",
        ("stoltz_lugosi(0.5)",),
        regret="internal",
    ),
    "tree_swap": Entry(
        "TreeSwap",
        "swap regret from any base: the mean of copies on ever longer blocks",
        ("tree_swap(hedge(0.7), 3, 8)",),
        regret="swap",
    ),
    "tsallis_inf": Entry(
        "TsallisINF",
        "bandit: regularised by the Tsallis entropy of order 1/2",
        ("tsallis_inf()",),
        feedback="bandit",
    ),
    "uniform": Entry("Uniform", "every action alike, whatever happens", ("uniform()",)),
    "minimax": Entry(
        "regrax.theory:Minimax",
        "the smallest worst-case regret on binary losses over a known number of rounds",
        ("minimax(20)",),
    ),
    "optimal": Entry(
        "regrax.theory:Optimal",
        "the best possible policy against Gaussian losses over a known horizon",
        ("optimal(20)", "optimal(20, 0.68)"),
    ),
    "checkpoint": Entry("regrax.checkpoints:Checkpoint", "a trained model from its files"),
}
ALIASES = {"fictitious_play": LEARNERS["follow_the_leader"]}
PARTS = {
    "inverse_sqrt": Entry("InverseSqrt"),
    "per_round": Entry("PerRound"),
    "ball": Entry("regrax.domains:Ball"),
    "simplex": Entry("regrax.domains:Simplex"),
    "started": Entry("Started"),
}
"""What specs of learners may name besides: schedules of step sizes, domains, a learner with its start."""

NAMES = dict[str, str]()
"""The name in specs of each class."""
for _name, _entry in {**LEARNERS, **PARTS}.items():
    NAMES[_entry.home.split(":")[-1]] = _name

DISTRIBUTIONS = {
    "gaussian": "regrax.training:Gaussian",
    "biased_gaussian": "regrax.training:BiasedGaussian",
    "uniform": "regrax.training:UniformLosses",
    "rademacher": "regrax.training:Rademacher",
    "laplace": "regrax.training:Laplace",
    "student_t": "regrax.training:StudentT",
    "alternating": "regrax.training:Alternating",
    "drifting": "regrax.training:Drifting",
}
MIXTURE = "regrax.training:Mixture"
IN_GAME = "regrax.training:InGame"
FEEDBACKS = {
    "delayed": "regrax.training:DelayedFeedback",
    "bandit": "regrax.training:BanditFeedback",
}

ZOO_HOME = "regrax.games.zoo"
ZOO = ("classics", "bargaining", "zero_sum_games", "poker", "markets", "n_player", "random_games")
"""The files of the zoo, in the order in which its games are listed."""


GAME_FILES = (".json", ".nfg", ".npz")
"""How the names of files that hold a game end."""


class About(NamedTuple):
    """What the docstring of a game of the zoo says."""

    summary: str = ""
    rule: str = ""
    reference: str = ""
    parameters: str = ""  # with their defaults, as in (firms=2, intercept=12)


@cache
def games() -> dict[str, About]:
    """Every game of the zoo by its name in specs, read from the source without importing it.

    >>> games()["deadlock"].summary, games()["ultimatum"].parameters
    ('The dominant action is also best for both players, so there is no dilemma.', '(pie=10)')
    """
    found = {}
    for family in ZOO:
        source = Path(__file__).parent / "games" / "zoo" / f"{family}.py"
        tree = ast.parse(source.read_text("utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for name in sorted(name for name in functions if not name.startswith("_")):
            found[name.replace("_", "-")] = _about(functions[name])
    return found


def about_game(text: str) -> About:
    """A game's description by its name or spec; all empty if the zoo has no such name."""
    return games().get(text.split("(")[0].strip().lower().replace("_", "-"), About())


def _about(function: ast.FunctionDef) -> About:
    text = ast.get_docstring(function) or ""
    parts = [" ".join(part.split()) for part in text.split("\n\n") if not part.startswith(">>>")]
    cited = [part.removeprefix("Reference: ") for part in parts if part.startswith("Reference")]
    rule = " ".join(part for part in parts[1:] if not part.startswith(("Args:", "Reference")))
    return About(parts[0], rule, " ".join(cited), _parameters(function.args))


def _parameters(arguments: ast.arguments) -> str:
    required = len(arguments.args) - len(arguments.defaults)
    defaults = [*[None] * required, *arguments.defaults, *arguments.kw_defaults]
    named = zip([*arguments.args, *arguments.kwonlyargs], defaults, strict=True)
    texts = [one.arg + (f"={_number(default)}" if default else "") for one, default in named]
    if arguments.vararg:
        texts.insert(len(arguments.args), f"*{arguments.vararg.arg}")
    return f"({', '.join(texts)})" if texts else ""


def _number(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):  # a fraction, as in 2 / 3
        return f"{ast.literal_eval(node.left) / ast.literal_eval(node.right):.4g}"
    return f"{ast.literal_eval(node):.4g}"
