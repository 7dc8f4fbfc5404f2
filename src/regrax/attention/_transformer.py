r"""A causal transformer as a learner: pre-norm, softmax attention, a learned start token, no positions.

Token 0 is learned, token $t$ is the embedded loss $\ell_t$; the output at token $t - 1$ is the logits of $\pi_t$:

    x <- x + O softmax_causal(Q y (K y)^T / sqrt(e)) V y,    y = norm(x)
    x <- x + B relu(A norm(x) + b),                          L times
    pi = softmax(R norm(x) + r)

Arrays hold features first and the batch last, so that every linear map is one matrix product. In play each layer keeps
the keys and values of past tokens, so a round costs one token.
"""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention._base import Batch, TrainableLearner
from regrax.learners import Key

Tokens = Float[Array, "w t *n"]


class Block(eqx.Module):
    """The weights of one layer."""

    queries: Float[Array, "w w"]  # Q, heads stacked along the rows
    keys: Float[Array, "w w"]  # K
    values: Float[Array, "w w"]  # V
    output: Float[Array, "w w"]  # O
    expand: Float[Array, "h w"]  # A
    expand_bias: Float[Array, "h"]  # b
    contract: Float[Array, "w h"]  # B


class Cache(NamedTuple):
    """State in play: what each layer keeps of the tokens so far, and the policy they give."""

    past: Float[Array, "L 2 w T"]  # keys and values
    tokens: Int[Array, ""]
    policy: Float[Array, "d"]


class Transformer(TrainableLearner):
    r"""$L$ layers of causal softmax attention over a start token and the losses so far; the last output is the policy.

    It knows no positions: softmax attention averages, and the start token's share of an average tells how many
    losses there were. To play it needs `rounds`, the size of its cache.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: of the parameters that it starts with.
        layers: number of layers $L$, an integer >= 1.
        heads: attention heads per layer, a divisor of `width`.
        width: of the residual stream.
        hidden: width of the feed-forward layers; by default `2 * width`.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> model = Transformer(3, layers=2, key=jax.random.key(0))
    >>> rollout(model, jnp.zeros((5, 3))).shape
    (5, 3)

    Reference: Vaswani et al. (2017), Attention is all you need; Xiong et al. (2020), On layer normalization.
    """

    name: ClassVar[str] = "transformer"
    start: Float[Array, "w"]
    embed: Float[Array, "w d"]
    blocks: tuple[Block, ...]
    readout: Float[Array, "d w"]  # R
    readout_bias: Float[Array, "d"]  # r
    heads: int = eqx.field(static=True)

    def __init__(
        self,
        actions: int,
        *,
        key: PRNGKeyArray,
        layers: int = 2,
        heads: int = 4,
        width: int = 32,
        hidden: int | None = None,
    ) -> None:
        sizes = {"actions": actions, "layers": layers, "heads": heads, "width": width}
        for name, value in sizes.items():
            checks.at_least(name, value, 1)
        if width % heads:
            raise ValueError(f"width must be a multiple of heads = {heads}, got {width}")
        drawn = _draw(key, actions, layers, width, hidden or 2 * width)
        self.start, self.embed, self.blocks, self.readout = drawn
        self.readout_bias, self.heads = jnp.zeros(actions), heads

    @property
    def actions(self) -> int:
        return self.readout.shape[-2]

    @property
    def settings(self) -> dict[str, Any]:
        hidden, width = self.blocks[0].expand.shape[-2:]
        sizes = {"actions": self.actions, "layers": len(self.blocks), "heads": self.heads}
        return {**sizes, "width": width, "hidden": hidden}

    def policies(self, losses: Batch) -> Batch:
        rounds, actions, count = losses.shape
        checks.plays(self, actions)
        start = jnp.broadcast_to(self.start[:, None, None], (self.start.size, 1, count))
        seen = jnp.tensordot(self.embed, losses[:-1], ((1,), (1,)))
        x = jnp.concatenate([start, seen], axis=1)
        causal = jnp.tril(jnp.ones((rounds, rounds), bool))
        for block in self.blocks:
            y = _norm(x)
            x = _layer(block, x, y, _keys_and_values(block, y), causal, self.heads)
        return jnp.moveaxis(self._readout(x), 1, 0)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Cache:
        checks.plays(self, actions)
        if rounds is None:
            raise ValueError("a transformer needs rounds, the size of its cache, got None")
        checks.at_least("rounds", rounds, 1)
        # one token more than rounds: the update after the last round still reads its loss
        empty = jnp.zeros((len(self.blocks), 2, self.start.size, rounds + 1))
        blank = Cache(empty, jnp.zeros((), int), jnp.zeros(actions))
        return self._read(blank, self.start)

    def policy(self, state: Cache) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Cache, feedback: Float[Array, "d"]) -> Cache:
        return self._read(state, self.embed @ feedback)

    def _read(self, cache: Cache, token: Float[Array, "w"]) -> Cache:
        x, kept = token[:, None], []
        seen = jnp.arange(cache.past.shape[3])[None, :] <= cache.tokens
        for block, past in zip(self.blocks, cache.past, strict=True):
            y = _norm(x)
            new = jnp.stack(_keys_and_values(block, y))
            kept.append(past.at[:, :, cache.tokens].set(new[..., 0]))
            x = _layer(block, x, y, kept[-1], seen, self.heads)
        return Cache(jnp.stack(kept), cache.tokens + 1, self._readout(x)[:, 0])

    def _readout(self, x: Tokens) -> Float[Array, "d t *n"]:
        return jax.nn.softmax(_product(self.readout, _norm(x), self.readout_bias), axis=0)


def _layer(
    block: Block,
    x: Tokens,
    y: Tokens,
    past: Iterable[Float[Array, "w s *n"]],
    visible: Bool[Array, "t s"],
    heads: int,
) -> Tokens:
    """Tokens `t` look at the keys and values of the tokens `s` visible to them, then pass the perceptron."""
    each = _product(block.queries, y), *past
    q, k, v = (array.reshape(heads, -1, *array.shape[1:]) for array in each)
    scores = jnp.einsum("het...,hes...->hts...", q, k) / q.shape[1] ** 0.5
    hidden = ~jnp.expand_dims(visible, (0, *range(3, scores.ndim)))
    shares = jax.nn.softmax(jnp.where(hidden, -jnp.inf, scores), axis=2)
    attended = jnp.einsum("hts...,hes...->het...", shares, v).reshape(x.shape)
    x = x + _product(block.output, attended)
    inner = jax.nn.relu(_product(block.expand, _norm(x), block.expand_bias))
    return x + _product(block.contract, inner)


def _keys_and_values(block: Block, y: Tokens) -> tuple[Array, Array]:
    return _product(block.keys, y), _product(block.values, y)


def _norm(x: Tokens) -> Tokens:
    """Layer normalisation over the features; gain and shift belong to the linear map that follows."""
    centred = x - x.mean(0, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(0, keepdims=True) + 1e-5)


def _product(
    weights: Float[Array, "out w"],
    x: Tokens,
    bias: Float[Array, "out"] | None = None,
) -> Float[Array, "out t *n"]:
    product = jnp.tensordot(weights, x, 1)
    return product if bias is None else product + bias.reshape(-1, *(1,) * (x.ndim - 1))


@partial(jax.jit, static_argnames=("actions", "layers", "width", "hidden"))
def _draw(key: PRNGKeyArray, actions: int, layers: int, width: int, hidden: int) -> tuple:
    """The start token, the embedding, the blocks and the readout.

    A number drawn depends on its key and place only: all rows are drawn as long as the longest, by one loop, which
    compiles in half the time of one per shape.
    """
    ends, *inner = jax.random.split(key, layers + 1)
    block = ((width, width),) * 4 + ((hidden, width), (width, hidden))
    shapes = [(width, 1), (width, actions), (actions, width), *block * layers]
    own = jax.vmap(partial(jax.random.split, num=len(block)))(jnp.stack(inner)).ravel()
    keys = jnp.concatenate([jax.random.split(ends, 3), own])
    rows = jax.vmap(partial(jax.random.normal, shape=(max(map(math.prod, shapes)),)))(keys)
    start, embed, readout, *weights = (
        row[: math.prod(shape)].reshape(shape) / shape[1] ** 0.5
        for row, shape in zip(rows, shapes, strict=True)
    )
    blocks = []
    for n in range(layers):
        queries, keys, values, output, expand, contract = weights[6 * n : 6 * n + 6]
        # each layer writes twice to the residual stream: keep its size independent of the depth
        output, contract = (written / (2 * layers) ** 0.5 for written in (output, contract))
        blocks.append(Block(queries, keys, values, output, expand, jnp.zeros(hidden), contract))
    return start[:, 0], embed, tuple(blocks), 0.1 * readout
