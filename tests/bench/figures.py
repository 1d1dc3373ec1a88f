"""The arithmetic of the benchmarks' tables: from what the programs print to figures. tables.py
prints them.

Virtual time counts instructions, 8 ns each. It knows no cache miss, lock or interrupt: only figures
of one run are compared.
"""
import json
import statistics
from dataclasses import dataclass, field

NS_PER_INSTRUCTION = 8  # -icount shift=3, scripts/lab.d/qemu.sh


@dataclass
class Block:
    """A block of the micro-load: wakeups that are all alike."""
    elapsed: int
    own: int
    wakeups: int
    kept: int
    decisions: int


@dataclass
class Round:
    blocks: dict = field(default_factory=dict)  # by variant: [Block]
    runs: dict = field(default_factory=dict)  # by variant: (elapsed ns, decisions)


@dataclass
class LabRun:
    rounds: list = field(default_factory=list)
    failed: dict = field(default_factory=dict)
    calls: dict = field(default_factory=dict)  # of a patched function, per wakeup
    jit: str = "unknown"


@dataclass
class Spread:
    """Median, least and greatest."""
    mid: float
    low: float
    high: float

    @staticmethod
    def of(values):
        return Spread(statistics.median(values), min(values), max(values))


def parse_lab(text):
    """The lab's output: lines of fairswitch-cost and of tests/bench/guest; others are skipped."""
    lab = LabRun()
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["bench", "round"]:
            lab.rounds.append(Round())
        elif words[:2] == ["cost", "wakes"] and lab.rounds:
            lab.rounds[-1].blocks.setdefault(words[2], []).append(Block(*map(int, words[3:8])))
        elif words[:2] == ["cost", "run"] and lab.rounds:
            lab.rounds[-1].runs[words[2]] = (int(words[3]), int(words[4]))
        elif words[:2] == ["bench", "failed"]:
            lab.failed[words[2]] = " ".join(words[3:])
        elif words[:2] == ["bench", "calls"]:
            lab.calls[words[2]] = int(words[3]) / int(words[4])
        elif words[:2] == ["bench", "jit"]:
            lab.jit = words[2]
    return lab


def per_wakeup(blocks, what):
    return statistics.median(what(block) / block.wakeups for block in blocks)


def decisions_per_wakeup(lab):
    """As the module counts them while it is loaded; without it nobody counts."""
    return statistics.median(
        block.decisions / block.wakeups
        for round_ in lab.rounds for block in round_.blocks.get("loaded", []))


@dataclass
class Cost:
    """What a decision costs more, in ns, over the same round's baseline."""
    total: Spread
    path: float  # on the waker's and the sleeper's side
    others: float  # run by others meanwhile: the collector
    decisions: int  # made in the blocks that were measured


def cost(lab, name, base="absent"):
    """None if it wasn't measured in every round, or failed in any."""
    if name in lab.failed:
        return None
    rate = decisions_per_wakeup(lab)
    total, path = [], []
    decided = 0
    for round_ in lab.rounds:
        if name not in round_.blocks or base not in round_.blocks:
            return None
        blocks, bases = round_.blocks[name], round_.blocks[base]
        for added, what in ((total, lambda b: b.elapsed), (path, lambda b: b.own)):
            added.append((per_wakeup(blocks, what) - per_wakeup(bases, what)) / rate)
        decided += sum(block.decisions or round(block.wakeups * rate) for block in blocks)
    spread = Spread.of(total)
    on_path = statistics.median(path)
    return Cost(spread, on_path, spread.mid - on_path, decided)


def baseline(lab, name="absent"):
    """ns per wakeup over all blocks of the boot: how steady the machine is."""
    return Spread.of([block.elapsed / block.wakeups
                      for round_ in lab.rounds for block in round_.blocks[name]])


def slowdown(lab, name, base="absent"):
    """Of hackbench's fixed work, as a share, over the same round's baseline. None: not measured."""
    measured = all(name in r.runs and base in r.runs for r in lab.rounds)
    if not lab.rounds or not measured or name in lab.failed:
        return None
    return Spread.of([r.runs[name][0] / r.runs[base][0] - 1 for r in lab.rounds])


def run_spread(lab, base="absent"):
    """How far the baseline's own runs are apart, as a share of their median."""
    spread = Spread.of([r.runs[base][0] for r in lab.rounds])
    return (spread.high - spread.low) / spread.mid


@dataclass
class Goal:
    text: str
    value: float
    limit: float
    at_most: bool
    unit: str = ""

    @property
    def met(self):
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def line(self):
        bound = "at most" if self.at_most else "at least"
        said = f"{self.text}: {self.value:.3g}{self.unit}, goal {bound} {self.limit:g}{self.unit}"
        if self.met:
            return f"{said}: met"
        if self.limit == 0 or self.value == 0:
            return f"{said}: MISSED"
        factor = self.value / self.limit if self.at_most else self.limit / self.value
        return f"{said}: MISSED by a factor of {factor:.2f}"


def parse_disk(text):
    """Lines of fairswitch-disk, by (mode, detail)."""
    names = ("produced", "seconds", "synced", "cpu_s", "stored", "lost", "told", "bytes")
    rows = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["disk"]:
            rows[words[1], words[2]] = dict(zip(names, map(float, words[3:])))
    return rows


def parse_decode(text):
    """google-benchmark's JSON: by (decoder, detail, bytes), records per second of a core's time."""
    rows = {}
    for result in json.loads(text)["benchmarks"]:
        if result.get("error_occurred"):
            raise ValueError(f"{result['name']}: {result['error_message']}")
        decoder, detail, size = result["name"].split("/")[:3]
        rows[decoder, detail, int(size.split(":")[1])] = result["items_per_second"]
    return rows


@dataclass
class Command:
    seconds: float
    cpu_s: float
    peak_kib: int
    lines: int


def parse_commands(text):
    commands = {}
    for line in text.splitlines():
        name, seconds, cpu_s, peak, lines = line.split()
        commands[name] = Command(float(seconds), float(cpu_s), int(peak), int(lines))
    return commands


def parse_packs(text):
    """Lines "pack decisions bytes packed seconds", each behind its recording's name."""
    packs = {}
    for line in text.splitlines():
        name, _, decisions, size, packed, seconds = line.split()
        packs[name] = (int(decisions), int(size), int(packed), float(seconds))
    return packs
