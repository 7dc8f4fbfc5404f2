"""Options of several commands: output files, log formats, chat agents, devices and hosts."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter, Token

from regrax._files import new_file, output_file

if TYPE_CHECKING:
    from regrax.sharding import Devices

FIGURES = (".pdf", ".png", ".svg")
REQUESTS = Group("Chat agents", sort_key=60)
LOG_FORMAT = Group("Log format", sort_key=70)
OUTPUT = Group("Output", sort_key=80)
HOSTS = Group("Several hosts", sort_key=90)


def _output(_: Any, tokens: Sequence[Token], check: Callable[[Path], Any] = output_file) -> Path:
    """Check a path while parsing, so that no results are lost because a file cannot be written."""
    path = Path(tokens[0].value)
    if str(path) != "-":
        check(path)
    return path


def _new_output(_: Any, tokens: Sequence[Token]) -> Path:
    return _output(_, tokens, new_file)


def _figure(_: Any, tokens: Sequence[Token]) -> Path:
    path = _output(_, tokens)
    if path.suffix.lower() not in FIGURES:
        raise ValueError(f"a plot file must end in {', '.join(FIGURES)}, got {path}")
    return path


Output = Annotated[Path | None, Parameter(converter=_output, group=OUTPUT)]
NewOutput = Annotated[Path | None, Parameter(converter=_new_output, group=OUTPUT)]
Figure = Annotated[Path | None, Parameter(converter=_figure, group=OUTPUT)]
Folder = Annotated[Path, Parameter(group=OUTPUT)]
Flag = Annotated[bool, Parameter(group=OUTPUT)]
Json = Annotated[bool, Parameter(group=OUTPUT, help="Print one JSON object.")]


@Parameter(name="*", group=LOG_FORMAT)
@dataclass(frozen=True)
class LogOptions:
    """Options for reading logs written by other tools.

    Args:
        game: Spec or file of the game; its payoffs give the loss of every action.
        layout: TOML file that maps the fields of a row to paths in a record.
        fields: Paths of fields, as in episode=game_id payoff=info.reward.
        format: Tool that wrote the log: inspect, verifiers or textarena, or rows; guessed by default.
        rows: Field that lists the rounds of an episode.
        messages: Field with chat messages; each assistant message is an answer.
        actions: Names of the actions to look for in answers.
        parsers: Parsers for the answers, from think, regex, json, name and number.
        regex: Regular expression whose last match is the answer.
        players: Player of the game that an agent is, as in gpt-5=row or 'my model=0'.
    """

    game: str | None = None
    layout: Path | None = None
    fields: tuple[str, ...] = ()
    format: str = ""
    rows: str = ""
    messages: str = ""
    actions: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()
    regex: str | None = None
    players: tuple[str, ...] = ()

    def read(self) -> dict[str, Any]:
        """Return the layout and the game as keyword arguments for `audit_log` and `compare_logs`."""
        from regrax.agents.audit import layout_of, read_layout
        from regrax.games import read_game

        settings = vars(self) | {
            "fields": dict(_pair("fields", text.partition("=")) for text in self.fields),
            "players": dict(_pair("players", text.rpartition("=")) for text in self.players),
        }
        del settings["game"], settings["layout"]
        settings = {name: value for name, value in settings.items() if value}
        layout = None
        if self.layout is not None:
            layout = read_layout(self.layout, settings)
        elif settings:
            layout = layout_of(settings, "the options")
        return {"layout": layout, "game": None if self.game is None else read_game(self.game)}


def _pair(option: str, parts: tuple[str, str, str]) -> tuple[str, str]:
    name, _, value = parts
    if not name or not value:
        raise ValueError(f"--{option} must be name=value, got {''.join(parts)}")
    return name, value


@Parameter(name="*", group=REQUESTS)
@dataclass(frozen=True)
class Requests:
    """Options for requests to chat agents.

    Args:
        concurrency: Number of episodes to play at a time.
        resume: Continue a run that was stopped; no answer is requested twice.
        cache: File for answers; by default next to the log, with the suffix .answers.
        no_cache: Do not store answers.
        prices: Prices of a million input tokens and of a million output tokens.
        budget_tokens: Stop before the run uses more tokens than this.
        budget_cost: Stop before the run costs more than this, at the prices given.
    """

    concurrency: int = 8
    resume: bool = False
    cache: Path | None = None
    no_cache: bool = False
    prices: tuple[float, float] = (0.0, 0.0)
    budget_tokens: int | None = None
    budget_cost: float | None = None

    def open(self, log: Path | None, suffix: str = ".answers") -> dict[str, Any]:
        """Open the cache, and return the arguments for `play_episodes`."""
        from regrax.agents import AnswerCache

        cache = self.cache
        if cache is None and log is not None and str(log) != "-":
            cache = log.with_name(f"{log.name}{suffix}")
        if self.no_cache:
            cache = None
        if self.resume and (cache is None or not cache.exists()):
            text = "--resume needs the answers of the run that was stopped, but there is no"
            raise ValueError(f"{text} {'cache' if cache is None else f'file {cache}'}")
        path = ":memory:" if cache is None else output_file(cache)
        opened = AnswerCache(path, self.prices, self.budget_tokens, self.budget_cost)
        return {"concurrency": self.concurrency, "cache": opened, "resume": self.resume}


@Parameter(name="*", group=HOSTS)
@dataclass(frozen=True)
class Hosts:
    """Devices and processes that share the work.

    Args:
        devices: Number of devices to use per process: all, 1, 2, ...
        coordinator: HOST:PORT of process 0, or auto under SLURM, Open MPI, Kubernetes or a TPU pod.
        processes: Number of processes; run this command once for each.
        process_id: Index of this process, starting at 0; process 0 writes the files and prints.
    """

    devices: str | None = None
    coordinator: str | None = None
    processes: int | None = None
    process_id: int | None = None

    def joined(self) -> "AbstractContextManager[Devices | None]":
        """Join the other processes; the context is the devices to use, or None for jax's default device."""
        from regrax.distributed import joined

        command = [sys.executable, "-m", "regrax", *sys.argv[1:]]
        return joined(self.devices, self.coordinator, self.processes, self.process_id, command)
