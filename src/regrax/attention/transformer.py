r"""A causal transformer as a learner: pre-norm, softmax attention, a learned start token, no position embeddings.

Token 0 is learned and token $t$ is the embedded loss $\ell_t$. The output at token $t - 1$ gives $\pi_t$:

    x <- x + O softmax_causal(Q y (K y)^T / sqrt(e)) V y,    y = norm(x)
    x <- x + B relu(A norm(x) + b),                          L times
    pi = softmax(R norm(x) + r)

Arrays have the features first and the batch last, so that every linear map is one matrix product. In play every layer
caches the keys and values of past tokens, and a round costs one token.
"""

import math
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention.base import Batch, Recipe, TrainableLearner
from regrax.learners import Key
from regrax.simplex import Integer, Vector

Square = Float[Array, "w w"]
Tokens = Float[Array, "w t *n"]
KeysAndValues = Float[Array, "2 w s *n"]


class Block(eqx.Module):
    """One layer: attention, then a perceptron, each added to the residual stream."""

    queries: Square  # Q, heads stacked along the rows
    keys: Square  # K
    values: Square  # V
    output: Square  # O
    expand: Float[Array, "h w"]  # A
    expand_bias: Float[Array, "h"]  # b
    contract: Float[Array, "w h"]  # B

    def keys_and_values(self, x: Tokens) -> KeysAndValues:
        y = _norm(x)
        return jnp.stack([jnp.tensordot(self.keys, y, 1), jnp.tensordot(self.values, y, 1)])

    def __call__(
        self, x: Tokens, past: KeysAndValues, visible: Bool[Array, "t s"], heads: int
    ) -> Tokens:
        """Let token `t` attend to the keys and values of the tokens `s` that are visible to it."""
        queries = jnp.tensordot(self.queries, _norm(x), 1)
        q, k, v = (rows.reshape(heads, -1, *rows.shape[1:]) for rows in (queries, *past))
        scores = jnp.einsum("het...,hes...->hts...", q, k) / q.shape[1] ** 0.5
        hidden = ~jnp.expand_dims(visible, (0, *range(3, scores.ndim)))
        shares = jax.nn.softmax(jnp.where(hidden, -jnp.inf, scores), axis=2)
        attended = jnp.einsum("hts...,hes...->het...", shares, v).reshape(x.shape)
        x = x + jnp.tensordot(self.output, attended, 1)
        inner = jax.nn.relu(_affine(self.expand, _norm(x), self.expand_bias))
        return x + jnp.tensordot(self.contract, inner, 1)


class Cache(NamedTuple):
    """State in play: the keys and values of the tokens so far in every layer, and the policy they give."""

    past: Float[Array, "L 2 w T"]
    tokens: Integer
    policy: Vector


class Transformer(TrainableLearner):
    r"""$L$ layers of causal softmax attention over a start token and the losses so far; the last output is the policy.

    There are no position embeddings: softmax attention averages, and the start token's share of an average reveals how
    many losses there were. Playing requires `rounds`, the size of the cache.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: random key for the initial parameters, which are Gaussian.
        layers: number of layers $L$, an integer >= 1.
        heads: attention heads per layer, a divisor of `width`.
        width: width of the residual stream.
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
    recipe: ClassVar[Recipe] = Recipe(steps=3000, batch=256, chunk=64, rate=0.003, tail=0.1)
    start: Float[Array, "w"]
    embed: Float[Array, "w d"]
    blocks: tuple[Block, ...]
    readout: Float[Array, "d w"]  # R
    readout_bias: Vector  # r
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
        hidden = hidden or 2 * width
        ends, *inner = jax.random.split(key, layers + 1)
        shapes = ((width, 1), (width, actions), (actions, width))
        start, embed, readout = _draw_weights(ends, shapes)
        self.start = start[:, 0]
        self.embed = embed
        self.blocks = tuple(_draw_block(key, width, hidden, layers) for key in inner)
        self.readout = 0.1 * readout
        self.readout_bias = jnp.zeros(actions)
        self.heads = heads

    @property
    def actions(self) -> int:
        return self.readout.shape[-2]

    @property
    def settings(self) -> dict[str, Any]:
        hidden, width = self.blocks[0].expand.shape[-2:]
        return {
            "actions": self.actions,
            "layers": len(self.blocks),
            "heads": self.heads,
            "width": width,
            "hidden": hidden,
        }

    def policies(self, losses: Batch) -> Batch:
        rounds, actions, count = losses.shape
        checks.plays(self, actions)
        start = jnp.broadcast_to(self.start[:, None, None], (self.start.size, 1, count))
        seen = jnp.tensordot(self.embed, losses[:-1], ((1,), (1,)))
        x = jnp.concatenate([start, seen], axis=1)
        causal = jnp.tril(jnp.ones((rounds, rounds), bool))
        for block in self.blocks:
            x = block(x, block.keys_and_values(x), causal, self.heads)
        return jnp.moveaxis(self._read_out(x), 1, 0)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Cache:
        checks.plays(self, actions)
        checks.at_least("rounds, the size of a transformer's cache,", rounds, 1)
        assert rounds is not None
        # one more token than rounds, because the update after the last round reads its loss
        empty = jnp.zeros((len(self.blocks), 2, self.start.size, rounds + 1))
        cache = Cache(empty, jnp.zeros((), int), jnp.zeros(actions))
        return self._append(cache, self.start)

    def update(self, state: Cache, feedback: Vector) -> Cache:
        return self._append(state, self.embed @ feedback)

    def _append(self, cache: Cache, token: Float[Array, "w"]) -> Cache:
        x = token[:, None]
        visible = jnp.arange(cache.past.shape[3])[None, :] <= cache.tokens
        layers = []
        for block, past in zip(self.blocks, cache.past, strict=True):
            new = block.keys_and_values(x)
            layers.append(past.at[:, :, cache.tokens].set(new[..., 0]))
            x = block(x, layers[-1], visible, self.heads)
        return Cache(jnp.stack(layers), cache.tokens + 1, self._read_out(x)[:, 0])

    def _read_out(self, x: Tokens) -> Float[Array, "d t *n"]:
        return jax.nn.softmax(_affine(self.readout, _norm(x), self.readout_bias), axis=0)


def _draw_block(key: PRNGKeyArray, width: int, hidden: int, layers: int) -> Block:
    square = (width, width)
    shapes = (square, square, square, square, (hidden, width), (width, hidden))
    queries, keys, values, output, expand, contract = _draw_weights(key, shapes)
    # each of L layers adds to the residual stream twice; this keeps its size independent of the depth
    share = (2 * layers) ** 0.5
    return Block(queries, keys, values, output / share, expand, jnp.zeros(hidden), contract / share)


@partial(jax.jit, static_argnames="shapes")
def _draw_weights(key: PRNGKeyArray, shapes: tuple[tuple[int, int], ...]) -> list[Array]:
    """Draw Gaussian matrices, each divided by the square root of its number of columns.

    Every matrix has its own key but all are drawn by one `vmap`, at the length of the longest. XLA then compiles one
    loop instead of one per matrix, and building a two-layer model takes a third of the time.
    """
    keys = jax.random.split(key, len(shapes))
    longest = max(rows * columns for rows, columns in shapes)
    draws = jax.vmap(lambda own: jax.random.normal(own, (longest,)))(keys)
    pairs = zip(draws, shapes, strict=True)
    return [draw[: math.prod(shape)].reshape(shape) / shape[1] ** 0.5 for draw, shape in pairs]


def _norm(x: Tokens) -> Tokens:
    """Normalise the features to mean 0 and variance 1; the next linear map absorbs any gain and shift."""
    centred = x - x.mean(0, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(0, keepdims=True) + 1e-5)


def _affine(
    weights: Float[Array, "out w"], x: Tokens, bias: Float[Array, "out"]
) -> Float[Array, "out t *n"]:
    return jnp.tensordot(weights, x, 1) + bias.reshape(-1, *(1,) * (x.ndim - 1))
