"""Train a small PyTorch transformer on regret; only two lines refer to regrax.

    pip install 'regrax[torch]'
    python examples/torch_transformer.py

It takes a few seconds on an idle core and ends well below uniform play, whose squared regret is 18.85 with 3 actions
and 20 rounds; the lower bound for any policy is 14.63.
"""

import torch
from torch import nn

from regrax.torch import hindsight_loss, regret_loss

ACTIONS, ROUNDS, WIDTH = 3, 20, 32


class Player(nn.Module):
    """Map the losses of past rounds to a policy for every round."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(ACTIONS, WIDTH)
        self.place = nn.Parameter(torch.zeros(ROUNDS, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.leave = nn.Linear(WIDTH, ACTIONS)

    def forward(self, losses: torch.Tensor) -> torch.Tensor:
        past = torch.cat(
            [torch.zeros_like(losses[:, :1]), losses[:, :-1]], 1
        )  # round t sees 1..t-1
        mask = nn.Transformer.generate_square_subsequent_mask(ROUNDS)
        seen = self.layers(self.enter(past) + self.place, mask, is_causal=True)
        return torch.softmax(self.leave(seen), -1)


def main(steps: int = 200, batch: int = 128) -> None:
    """Train on Gaussian losses and print squared regret on fresh ones."""
    torch.manual_seed(0)
    player = Player()
    optimizer = torch.optim.Adam(player.parameters(), 3e-3)
    for _ in range(steps):
        losses = torch.randn(batch, ROUNDS, ACTIONS)
        loss = hindsight_loss(
            player(losses), losses
        )  # or regret_loss: the same expected gradient with more noise
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    losses = torch.randn(10_000, ROUNDS, ACTIONS)
    with torch.no_grad():
        trained = regret_loss(player(losses), losses)
        uniform = regret_loss(torch.full_like(losses, 1 / ACTIONS), losses)
    print(f"squared regret: trained {trained:.2f}, uniform play {uniform:.2f}")


if __name__ == "__main__":
    main()
