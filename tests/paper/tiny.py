"""The whole reproduction at a scale that checks its parts and not its numbers."""

from dataclasses import replace

from regrax.paper import ReproduceConfig


class TinyConfig(ReproduceConfig):
    def trainings(self):
        short = {"steps": 2, "batch": 8, "sequences": 64}
        return {name: replace(training, **short) for name, training in super().trainings().items()}

    def sizes(self):
        sizes = {"runs": 2, "samples": 20, "biased": 50, "gaussian": 50, "compared": 2, "drawn": 50}
        return replace(super().sizes(), **sizes)
