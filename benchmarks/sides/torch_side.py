"""A user's program in PyTorch: eager loops that train with the plain regret loss on fresh Gaussian losses."""

import time
from collections.abc import Callable

import torch
from torch import nn
from worker import serve

torch.set_num_threads(1)


class Linear(nn.Module):
    """The reduced linear attention layer."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.values = nn.Parameter(0.1 * torch.randn(actions, actions))
        self.scores = nn.Parameter(0.1 * torch.randn(actions))
        self.bias = nn.Parameter(0.1 * torch.randn(actions))

    def forward(self, losses: torch.Tensor) -> torch.Tensor:
        """Policies (batch, rounds, actions) of losses of the same shape."""
        added = (losses @ self.values.T + self.bias) * (1 + losses @ self.scores)[..., None]
        return torch.softmax(added.cumsum(1) - added, -1)


class Deep(nn.Module):
    """A pre-norm causal transformer with a learned start token, from torch's own layers."""

    def __init__(self, actions: int, layers: int, width: int, heads: int = 4) -> None:
        super().__init__()
        block = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(
            block, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.start = nn.Parameter(torch.randn(1, 1, width))
        self.embed, self.readout = nn.Linear(actions, width), nn.Linear(width, actions)

    def forward(self, losses: torch.Tensor) -> torch.Tensor:
        """Policies (batch, rounds, actions) of losses of the same shape."""
        count, rounds, _ = losses.shape
        tokens = torch.cat([self.start.expand(count, -1, -1), self.embed(losses[:, :-1])], 1)
        mask = nn.Transformer.generate_square_subsequent_mask(rounds)
        return torch.softmax(self.readout(self.body(tokens, mask=mask, is_causal=True)), -1)


def regret_loss(policies: torch.Tensor, losses: torch.Tensor) -> torch.Tensor:
    """Mean squared external regret."""
    regret = (policies * losses).sum((1, 2)) - losses.sum(1).min(-1).values
    return (regret**2).mean()


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, objective: Callable, shape: tuple
) -> None:
    """Take one step on fresh losses."""
    losses = torch.randn(shape)
    optimizer.zero_grad()
    objective(model(losses), losses).backward()
    optimizer.step()


class Swap(nn.Module):
    """A linear attention layer per head, each on its own losses."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Linear(actions) for _ in range(actions))

    def forward(self, losses: torch.Tensor) -> torch.Tensor:
        """Policies of losses (batch, heads, rounds, actions)."""
        return torch.stack([head(losses[:, i]) for i, head in enumerate(self.heads)], 1)


def swap_loss(policies: torch.Tensor, losses: torch.Tensor) -> torch.Tensor:
    """Mean square of the sum of the heads' regrets."""
    regrets = (policies * losses).sum((2, 3)) - losses.sum(2).min(-1).values
    return (regrets.sum(1) ** 2).mean()


def steps(
    kind: str, count: int, batch: int, actions: int = 3, rounds: int = 20, width: int = 32
) -> Callable[[], list]:
    """Training steps on fresh losses."""
    torch.manual_seed(0)
    models = {"linear": Linear, "swap": Swap, "deep": lambda d: Deep(d, 2, width)}
    model = models[kind](actions)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    shape = (batch, actions, rounds, actions) if kind == "swap" else (batch, rounds, actions)
    objective = swap_loss if kind == "swap" else regret_loss

    def run() -> list:
        for _ in range(count):
            train_step(model, optimizer, objective, shape)
        return []

    return run


def to_quality(step: float, rate: float, batch: int, limit: float) -> Callable[[], list]:
    """Train the linear layer until its policies are within 0.4 % of FTRL's with this step, or until time runs out."""
    held_out = torch.randn(4096, 20, 3, generator=torch.Generator().manual_seed(1))
    target = torch.softmax(-step * (held_out.cumsum(1) - held_out), -1)

    def run() -> list:
        torch.manual_seed(1)
        model = Linear(3)
        optimizer = torch.optim.Adam(model.parameters(), rate)
        began, distance = time.process_time(), 1.0
        while distance > 0.004 and time.process_time() - began < limit:
            for _ in range(50):
                train_step(model, optimizer, regret_loss, (batch, 20, 3))
            with torch.no_grad():
                distance = float((model(held_out) - target).abs().sum(-1).mean() / 2)
        if distance > 0.004:
            raise RuntimeError(f"at {100 * distance:.1f} % after {limit:.0f} s of 0.4 % asked for")
        return [distance]

    return run


if __name__ == "__main__":
    serve({"steps": steps, "to_quality": to_quality})
