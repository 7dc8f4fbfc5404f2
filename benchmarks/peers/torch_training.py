"""What a user would write in PyTorch: eager loops that train with the plain regret loss on fresh Gaussian losses."""

import time

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


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, shape: tuple) -> None:
    """One step on fresh losses."""
    losses = torch.randn(shape)
    optimizer.zero_grad()
    regret_loss(model(losses), losses).backward()
    optimizer.step()


class Trainings:
    """Models between requests."""

    def __init__(self) -> None:
        self.kept: dict = {}

    def steps(self, kind: str, count: int, batch: int, actions: int = 3, rounds: int = 20) -> dict:
        """Time `count` steps."""
        if kind not in self.kept:
            torch.manual_seed(0)
            model = Linear(actions) if kind == "linear" else Deep(actions, 2, 32)
            self.kept[kind] = model, torch.optim.Adam(model.parameters(), 0.003)
        model, optimizer = self.kept[kind]
        began = time.perf_counter()
        for _ in range(count):
            train_step(model, optimizer, (batch, rounds, actions))
        return {"seconds": time.perf_counter() - began}


def to_quality(step: float, rate: float, batch: int, steps: int, limit: float) -> dict:
    """Train the linear layer until its policies are within 0.4 % of the FTRL's with this step, or time is up.

    The rate falls to zero as a cosine over `steps`; with 0 it stays. Checks are not counted.
    """
    torch.manual_seed(1)
    model, spent, done = Linear(3), 0.0, 0
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps) if steps else None
    held_out = torch.randn(4096, 20, 3)
    target = torch.softmax(-step * (held_out.cumsum(1) - held_out), -1)
    distance = 1.0
    while distance > 0.004 and spent < limit and not (steps and done >= steps):
        began = time.perf_counter()
        for _ in range(50):
            train_step(model, optimizer, (batch, 20, 3))
            if schedule:
                schedule.step()
        spent, done = spent + time.perf_counter() - began, done + 50
        with torch.no_grad():
            distance = float((model(held_out) - target).abs().sum(-1).mean() / 2)
    return {"seconds": spent, "steps": done, "total_variation": distance}


if __name__ == "__main__":
    trainings = Trainings()
    serve({"steps": trainings.steps, "to_quality": to_quality})
