"""regrax itself."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from games import COMPARED, payoffs
from worker import serve

import regrax as rx

KEY = jax.random.key(0)


def play(
    learner: Callable[[float], rx.Learner],
    actions: int,
    rounds: int,
    step: float,
    games: int = 1,
    bits: int = 32,
    players: int = 2,
) -> Callable[[], list]:
    """Self-play of one game, or of many in one `vmap`."""
    if bits == 64:
        jax.config.update("jax_enable_x64", True)
    seated = learner(step)
    tables = np.stack([payoffs(actions, players, seed) for seed in range(games)])
    if games == 1:
        game = rx.Game(tables[0])
        return lambda: _shown(rx.play(game, seated, rounds), np.s_[COMPARED])
    many = jax.jit(jax.vmap(lambda table: rx.play(rx.Game(table), seated, rounds)))
    stacked = jnp.asarray(tables, float)
    return lambda: _shown(many(stacked), np.s_[:, COMPARED])


def _shown(played: rx.Trajectory, where: Any) -> list:
    """Return the first player's policies in the round that is compared."""
    policies = np.asarray(jax.block_until_ready(played).policies[0])
    return policies[where].ravel().tolist() if policies.shape[-2] > COMPARED else []


def play_weighted_rps(rounds: int, step: float, times: int) -> Callable[[], list]:
    """Self-play of the paper's game."""
    game, learner = rx.games.weighted_rps(), rx.Hedge(step)

    def run() -> list:
        for _ in range(times):
            played = rx.play(game, [learner, learner], rounds)
        return _shown(played, np.s_[COMPARED])

    return run


def rollout(actions: int, rounds: int, step: float, times: int) -> Callable[[], list]:
    """Hedge on given losses."""
    losses = np.random.default_rng(0).random((rounds, actions), np.float32)
    learner = rx.Hedge(step)

    def run() -> list:
        for _ in range(times):
            policies = rx.rollout(learner, losses)
        return policies[-1].tolist()

    return run


def blum_mansour(**arguments: Any) -> Callable[[], list]:
    """Check that every round's policy is a fixed point to the required residual, and play."""
    run = play(lambda step: rx.BlumMansour(rx.Hedge(step)), **arguments)
    small = {name: value for name, value in arguments.items() if name not in ("games", "rounds")}
    if arguments["actions"] <= 100:
        residual, most = residual_of(**small), 1e-6 if arguments.get("bits", 32) == 32 else 1e-10
        if residual > most:
            raise RuntimeError(f"the residual is {residual:.1e}, above {most}")
    return run


def residual_of(actions: int, step: float, bits: int = 32) -> float:
    """Replay the losses of 200 rounds; return the largest ||P pi - pi||_1."""
    learner, game = rx.BlumMansour(rx.Hedge(step)), rx.Game(payoffs(actions))
    losses = rx.play(game, learner, 200).losses[0]

    def follow(state: Any, loss: jax.Array) -> tuple[Any, jax.Array]:
        columns = jax.vmap(learner.base.policy)(state.heads).T
        policy = learner.policy(state)
        return learner.update(state, loss), jnp.abs(columns @ policy - policy).sum()

    return float(jax.lax.scan(follow, learner.init(actions, 200), losses)[1].max())


def gaps(actions: int) -> Callable[[], list]:
    """CCE, CE and swap gaps of one joint play, in double precision."""
    game = rx.Game(payoffs(actions))
    joint = np.random.default_rng(1).dirichlet(np.ones(actions**2)).reshape(actions, actions)

    def run() -> list:
        names = ("cce_gap", "ce_gap", "swap_gap")
        gaps = rx.joint_gaps(joint, game, names)
        return [float(gaps[name]) for name in names]

    return run


def steps(
    kind: str,
    count: int,
    batch: int,
    actions: int = 3,
    rounds: int = 20,
    seeds: int = 1,
    width: int = 32,
) -> Callable[[], list]:
    """Training steps on fresh losses."""
    from regrax.training import SwapRegretObjective, adam, fit

    makers: dict[str, Callable[[Any], rx.Learner]] = {
        "linear": lambda key: rx.LinearAttention(actions, key=key),
        "deep": lambda key: rx.Transformer(actions, width=width, key=key),
        "swap": lambda key: rx.SwapAttention(actions, key=key),
    }
    keys = jax.random.split(KEY, seeds)
    model = jax.vmap(makers[kind])(keys) if seeds > 1 else makers[kind](KEY)
    objective = (SwapRegretObjective if kind == "swap" else rx.RegretObjective)(actions, rounds)
    optimizer = adam(0.003, count)
    # what a transformer keeps of 16 sequences fits into the cache
    chunk = 16 if kind == "deep" else None

    def run() -> list:
        fitted = fit(
            model, objective, key=keys if seeds > 1 else KEY, steps=count, every=count, batch=batch, chunk=chunk,
            optimizer=optimizer,
        )  # fmt: skip
        jax.block_until_ready(fitted.model)
        return []

    return run


def to_quality(objective: str, batch: int, rate: float, count: int) -> Callable[[], Any]:
    """Train the linear layer from random parameters to convergence; return its step and its distance to FTRL."""
    from regrax.training import adam, fit

    aims = {
        "plain": rx.RegretObjective(3, 20),
        "conditional": rx.HindsightObjective(3, 20, conditional=True),
    }
    model, optimizer = rx.LinearAttention(3, key=KEY), adam(rate, count)

    def run() -> Callable[[], list]:
        fitted = fit(
            model, aims[objective], key=KEY, steps=count, every=count, batch=batch, optimizer=optimizer, tail=0.3
        )  # fmt: skip
        trained = jax.block_until_ready(fitted.model)
        return lambda: _checked(trained)

    return run


def _checked(model: Any) -> list:
    found, exact = rx.fit_step_size(model, 20, key=jax.random.key(1)), rx.theory.step_size(3, 20)
    if found.total_variation > 0.004 or abs(found.step / exact - 1) > 0.005:
        raise RuntimeError(f"the quality asked for is not reached: {found}")
    return [found.step, found.total_variation]


def exact_step(actions: int, horizon: int) -> Callable[[], list]:
    """Compute k* without cached results."""
    from regrax.theory.quadrature import round_nodes
    from regrax.theory.steps import _scaled_root

    def run() -> list:
        _scaled_root.cache_clear()
        round_nodes.cache_clear()
        return [rx.theory.step_size(actions, horizon)]

    return run


def monte_carlo(actions: int, horizon: int, runs: int) -> Callable[[], list]:
    """Estimate k* as in the paper: for each run, the minimiser on 800 sequences."""
    from regrax.paper.certify import monte_carlo_steps

    return lambda: np.asarray(
        monte_carlo_steps(actions, horizon, key=KEY, samples=800, runs=runs)
    ).tolist()


if __name__ == "__main__":
    serve(
        {
            "hedge": lambda **arguments: play(rx.Hedge, **arguments),
            "hedge_of_many": lambda **arguments: play(rx.Hedge, **arguments),
            "weighted_rps": play_weighted_rps,
            "rollout": rollout,
            "blum_mansour": blum_mansour,
            "regret_matching": lambda **arguments: play(
                lambda _: rx.RegretMatching(), step=0.0, **arguments
            ),
            "fictitious_play": lambda **arguments: play(
                lambda _: rx.FollowTheLeader(), step=0.0, **arguments
            ),
            "gaps": gaps,
            "steps": steps,
            "to_quality": to_quality,
            "exact_step": exact_step,
            "monte_carlo": monte_carlo,
        }
    )
