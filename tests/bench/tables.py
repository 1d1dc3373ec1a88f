"""tables.py DIR [DECISIONS]: prints the benchmarks' six tables from what scripts/bench left in DIR.
DECISIONS: of the log that `report` read; without it, only the first two, of the rows measured."""
import re
import sys
from pathlib import Path

import figures
from figures import Goal

OURS = {
    "loaded": "module loaded, not recording",
    "brief": "fairswitch record --detail brief",
    "full": "fairswitch record (full)",
    "decisions": "same, --kinds decision,task",
    "trace-event": "trace-cmd -e fairswitch:decision",
}
RIVALS = {
    "bpftrace": "bpftrace kprobe + kretprobe",
    "perf-sched-events": "perf record -e 'sched:*'",
    "perf-sched-record": "perf sched record",
}
NAMES = OURS | RIVALS
DECODERS = (("overlay", "brief"), ("overlay", "full"), ("libprotobuf", "brief"),
            ("libprotobuf", "full"), ("arena", "brief"))
DECODED = (64 << 10, "cache"), (512 << 20, "memory")


def title(number, text):
    print(f"\n{number}. {text}")


def row(name, *cells, width=12):
    print(f"   {name:34}" + "".join(f"{cell:>{width}}" for cell in cells))


def print_goals(goals):
    for goal in goals:
        print(f"   {goal.line()}")


def said(directory, name):
    path = directory / "lab" / f"{name}.said"
    return path.read_text(errors="replace") if path.exists() else ""


def losses(directory, name):
    """What a recorder itself says it lost; "-" if it says nothing, which isn't none."""
    text = said(directory, name)
    for pattern in (r", (\d+) lost$", r"Lost (\d+) events", r"lost (\d+) chunks",
                    r"overrun: (\d+)"):
        found = re.findall(pattern, text, re.MULTILINE)
        if found:
            return f"{sum(map(int, found)):,}"
    return "-"


def reason(lab, name):
    return lab.failed.get(name, "not in every round; see the lab's output")


def instructions(ns):
    return f"{ns / figures.NS_PER_INSTRUCTION:,.0f}"


def cost_row(directory, lab, name, rival):
    cost = figures.cost(lab, name)
    if cost is None:
        print(f"   {NAMES[name]:34}not measured: {reason(lab, name)}")
        return
    ratio = f"{cost.total.mid / rival.total.mid:.3f}" if rival else "-"
    row(NAMES[name], ratio, f"{cost.total.mid:,.0f}", instructions(cost.total.mid),
        f"{cost.total.low:.0f}..{cost.total.high:.0f}", instructions(cost.path),
        instructions(cost.others), f"{cost.decisions:,}", losses(directory, name), width=14)


def cost_goals(lab, rival):
    events = figures.cost(lab, "perf-sched-events")
    for name in ("brief", "full"):
        cost = figures.cost(lab, name)
        if cost and rival:
            yield Goal(f"{name} to bpftrace", cost.total.mid / rival.total.mid, 0.2, True)
        if cost and events:
            yield Goal(f"{name} to perf record -e 'sched:*'", cost.total.mid / events.total.mid, 1,
                       True)


def cost_table(directory, lab):
    title(1, "What a recorded decision costs (lab, virtual time: 1 ns is 1/8 instruction)")
    base = figures.baseline(lab)
    print(f"   A wakeup that preempts takes {base.mid:,.0f} ns without anybody watching, "
          f"{base.low:,.0f}..{base.high:,.0f} in all blocks of the boot;")
    print(f"   {figures.decisions_per_wakeup(lab):.3f} decisions each, as the loaded module counts. "
          f"Added per decision, medians of {len(lab.rounds)} rounds;")
    print("   path: of that, in the waker and the woken; others: run meanwhile by the collector. "
          f"BPF's JIT: {lab.jit}.")
    row("", "of bpftrace", "ns", "instructions", "ns, range", "path", "others", "decisions",
        "said lost", width=14)
    rival = figures.cost(lab, "bpftrace")
    for name in NAMES:
        cost_row(directory, lab, name, rival)
    print("   said lost: in the last round. Whoever loses records pays less for them.")
    patched_line(lab)
    print_goals(cost_goals(lab, rival))
    where_it_goes(lab)


def patched_line(lab):
    cost = figures.cost(lab, "loaded")
    calls = sum(lab.calls.values())
    if cost and calls:
        print(f"   Off: {instructions(cost.total.mid / calls)} instructions per call of a patched "
              f"function; calls per wakeup: " +
              ", ".join(f"{name} {count:.2f}" for name, count in lab.calls.items()))


def where_it_goes(lab):
    off = figures.cost(lab, "loaded")
    for name in ("brief", "full", "decisions"):
        cost = figures.cost(lab, name)
        if not (cost and off):
            continue
        parts = off.path, cost.path - off.path, cost.others - off.others
        print(f"   {NAMES[name]}: {instructions(parts[0])} instructions for being loaded, "
              f"{instructions(parts[1])} making records, {instructions(parts[2])} collecting")


def slowdown_table(lab):
    title(2, "hackbench, the same work (lab, virtual time), slowdown against no module")
    spread = figures.run_spread(lab)
    print(f"   {len(lab.rounds)} repetitions each, in turns; those without the module are "
          f"{spread:.1%} apart")
    row("", "median", "least", "greatest")
    for name in NAMES:
        slow = figures.slowdown(lab, name)
        if slow is None:
            print(f"   {NAMES[name]:34}not measured: {reason(lab, name)}")
            continue
        note = "inside the spread" if abs(slow.mid) <= spread else ""
        row(NAMES[name], *(f"{part:+.1%}" for part in (slow.mid, slow.low, slow.high)),
            f"   {note}")
    full, off = figures.slowdown(lab, "full"), figures.slowdown(lab, "loaded")
    if full:
        print_goals([Goal("full recording", 100 * full.mid, 3, True, " %")])
    if off:
        print_goals([Goal("loaded, not recording", 100 * off.mid, 1, True, " %")])


DISK_MODES = {
    "one-core": "both on one core, in turns",
    "waits": "a core each, producer waits",
    "paced": "a core each, paced",
    "flood": "a core each, never waits",
}


def disk_table(directory):
    title(3, "Ring to disk, natively")
    rows = figures.parse_disk((directory / "disk").read_text())
    print("   per CPU s: by the collector's thread time, of one-core the producer's too; synced: "
          "until on the disk")
    row("", "M/s", "MB/s", "M per CPU s", "M/s synced", "produced", "stored", "lost", "told lost")
    for (mode, detail), values in rows.items():
        size = values["bytes"] / max(values["stored"], 1)
        row(f"{detail}, {DISK_MODES[mode]}", f"{values['stored'] / values['seconds'] / 1e6:.1f}",
            f"{values['stored'] * size / values['seconds'] / 1e6:,.0f}",
            f"{values['stored'] / values['cpu_s'] / 1e6:.1f}",
            f"{values['stored'] / values['synced'] / 1e6:.1f}", f"{values['produced']:,.0f}",
            f"{values['stored']:,.0f}", f"{values['lost']:,.0f}", f"{values['told']:,.0f}")
    print("   Each file was read again: it holds what was stored and tells of what was lost.")
    core = rows["one-core", "brief"]
    paced = rows["paced", "brief"]
    print_goals([
        Goal("brief per core", core["stored"] / core["cpu_s"] / 1e6, 5, False, " M/s"),
        Goal(f"lost at {paced['produced'] / paced['seconds'] / 1e6:.1f} M/s", paced["lost"], 0,
             True)])


def decode_table(directory, commands):
    title(4, "Decoding, natively, per second of a core's time")
    rates = figures.parse_decode((directory / "decode.json").read_text())
    script = commands.get("perf-script")
    base = script.lines / script.cpu_s if script else None
    row("", "x perf script", "M/s", "s for 1 M", width=15)
    for decoder, detail in DECODERS:
        for size, where in DECODED:
            rate_row(f"{decoder}, {detail}, from {where}", rates[decoder, detail, size], base)
    for name, label in (("perf-script", "perf script"), ("trace-cmd-report", "trace-cmd report")):
        command = commands.get(name)
        if command:
            rate_row(f"{label}, {command.lines:,} events", command.lines / command.cpu_s, base)
        else:
            print(f"   {label:34}not measured: it failed, see the log of this step")
    print("   Both rivals print each event, too; we read it into a struct. arena: libprotobuf "
          "without its")
    print("   allocations, which our reader doesn't avoid: so much of its time goes there.")
    print_goals(
        Goal(f"{decoder}, brief, from {where}", rates[decoder, "brief", size] / 1e6, limit, False,
             " M/s")
        for decoder, limit in (("overlay", 50), ("libprotobuf", 10)) for size, where in DECODED)


def rate_row(name, rate, base):
    row(name, f"{rate / base:.3g}" if base else "-", f"{rate / 1e6:.2f}", f"{1e6 / rate:.3f}",
        width=15)


def report_table(commands, decisions):
    title(5, f"fairswitch report over {decisions:,} decisions, natively")
    report = commands["report"]
    print(f"   {report.seconds:.1f} s, {report.cpu_s:.1f} s of CPU time; peak memory "
          f"{report.peak_kib / 1024:.0f} MB")
    print_goals([Goal("CPU time", report.cpu_s, 10, True, " s"),
                 Goal("time", report.seconds, 10, True, " s"),
                 Goal("peak memory", report.peak_kib / 1024, 300, True, " MB")])


def size_table(directory):
    title(6, "Log bytes per decision, of eight periodic threads beside hackbench in the lab")
    row("", "decisions", "raw", "zstd", "packed to", "packs MB/s")
    for name, (decisions, size, packed, seconds) in figures.parse_packs(
            (directory / "packs").read_text()).items():
        row(name, f"{decisions:,}", f"{size / decisions:.1f}", f"{packed / decisions:.1f}",
            f"{packed / size:.1%}", f"{size / seconds / 1e6:.0f}")
    print("   With header, tasks, and at full the delays and requeues beside the decisions.")


def main():
    directory = Path(sys.argv[1])
    lab = figures.parse_lab((directory / "lab/log/output.log").read_text(errors="replace"))
    cost_table(directory, lab)
    slowdown_table(lab)
    if len(sys.argv) == 2:
        return
    decisions = int(sys.argv[2])
    commands = figures.parse_commands((directory / "commands").read_text())
    disk_table(directory)
    decode_table(directory, commands)
    report_table(commands, decisions)
    size_table(directory)


main()
