r"""Compute as a count: the arithmetic that a program asks for, read from the program itself.

A product of matrices $(m, k)$ and $(k, n)$ is $2mkn$ operations, anything element by element one for each number it
gives, a sum one for each number it takes; a loop is its body times its length. Moving and comparing are free.
"""

from collections.abc import Callable, Iterator
from math import inf, isfinite, prod
from typing import Any

import jax

ELEMENTWISE = frozenset(
    {
        *("add", "add_any", "sub", "mul", "div", "neg", "abs", "max", "min", "sign"),
        *("square", "integer_pow", "pow", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log1p"),
        *("tanh", "logistic", "erf", "erfc", "erf_inv", "sin", "cos"),
    }
)
SUMS = frozenset(
    {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "cumsum", "argmin", "argmax"}
)


def operations(function: Callable[..., Any], *arguments: Any) -> int | None:
    """The operations of one call; None if a loop's length is known only when it runs. Shapes will do as arguments.

    >>> import jax.numpy as jnp
    >>> operations(lambda a, b: a @ b + 1.0, jnp.zeros((2, 3)), jnp.zeros((3, 5)))
    70
    """
    count = _count(jax.make_jaxpr(function)(*arguments).jaxpr)
    return int(count) if isfinite(count) else None


def _count(program: Any) -> float:
    return sum(map(_of, program.eqns))


def _of(equation: Any) -> float:
    """An integer, or infinite for a loop whose length is not known."""
    name = equation.primitive.name
    if name == "dot_general":
        return 2 * _size(equation.outvars) * _contracted(equation)
    if name in ELEMENTWISE:
        return _size(equation.outvars)
    if name in SUMS:
        return _size(equation.invars)
    if name == "while":
        return inf
    once = max if name == "cond" else sum  # of the branches, the longest
    return equation.params.get("length", 1) * once(map(_count, _programs(equation.params)))


def _programs(parameters: dict[str, Any]) -> Iterator[Any]:
    for value in parameters.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            program = getattr(part, "jaxpr", part)
            if hasattr(program, "eqns"):
                yield program


def _contracted(equation: Any) -> int:
    (left, _), _ = equation.params["dimension_numbers"]
    return prod(equation.invars[0].aval.shape[axis] for axis in left)


def _size(variables: Any) -> int:
    return sum(prod(variable.aval.shape) for variable in variables)
