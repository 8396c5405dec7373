"""From the rounds of a comparison to tables: medians, ratios, targets. Knows nothing of how they were measured.

A round is a dict: `ranks`, `transport`, `trips_ns` (the cross-core trip before and after, None where it is unknown) and
`turns`, the rows of each contestant: {"rondo": [{"test", "size", "min_us", "median_us", "p99_us", "wrong", ...}], ...}.
A contestant that is missing, or a row of it, leaves a gap.
"""

from statistics import median

OURS = "rondo"
REFERENCES = ("numpy",)  # no peers: they move nothing
NEAR_NS = 100.0
KIB, MIB = 1024, 1024 * 1024

# What rondo's time may be of the best peer's: transport, ranks, tests, sizes from, to, and the largest ratio. A
# bandwidth of 2.5 times is a time of 1 / 2.5. AHEAD is where level is not enough.
AHEAD = 0.999
OTHERS = ("all_gather", "reduce_scatter", "all_to_all", "sendrecv")
TARGETS = (
    ("shm", 2, ("all_reduce",), 4, 1 * KIB, 0.75),
    ("shm", 2, ("all_reduce",), 16 * KIB, 16 * KIB, 0.4),
    ("shm", 2, ("all_reduce",), 256 * KIB, 4 * MIB, 1 / 2.5),
    ("shm", 2, ("all_reduce",), 16 * MIB, 256 * MIB, 1 / 4),
    ("shm", 2, OTHERS, 1, 16 * KIB - 1, AHEAD),
    ("shm", 2, OTHERS, 16 * KIB, 256 * MIB, 1 / 1.5),
    ("shm", 4, ("all_reduce",), 4, 4, 1.0),
    ("shm", 4, ("all_reduce",), 16 * KIB, 256 * MIB, 1 / 2.5),
    ("tcp", 2, ("all_reduce",), 4, 1 * KIB, 0.8),
    ("tcp", 2, ("all_reduce",), 16 * KIB, 16 * KIB, 0.7),
    ("tcp", 2, ("all_reduce",), 256 * KIB, 256 * KIB, 1 / 1.3),
    ("tcp", 2, ("all_reduce",), 1 * MIB, 1 * MIB, AHEAD),
    ("tcp", 2, ("all_reduce",), 4 * MIB, 16 * MIB, 1 / 1.3),
    ("tcp", 2, ("all_reduce",), 64 * MIB, 256 * MIB, 1 / 1.8),
    ("tcp", 4, ("all_reduce",), 4, 1 * KIB, 0.8),
    ("tcp", 4, ("all_reduce",), 1 * KIB + 1, 256 * MIB, 1 / 1.2),
)


def target_of(transport, ranks, test, size, distance):
    """The largest ratio that meets the target, or None where there is none. With far cores, being level is enough."""
    for where, group, tests, least, most, ratio in TARGETS:
        if (where, group) == (transport, ranks) and test in tests and least <= size <= most:
            return max(ratio, 1.0) if distance == "far" else ratio
    return None


def distance_of(one_round):
    """near, far, or unknown: near is a cross-core trip below 100 ns both before and after, where it was probed."""
    trips = [trip for trip in one_round["trips_ns"] or () if trip is not None]
    if not trips:
        return "unknown"
    return "near" if all(trip < NEAR_NS for trip in trips) else "far"


def bus_factor(test, ranks):
    if test == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if test in ("all_gather", "reduce_scatter", "all_to_all"):
        return (ranks - 1) / ranks
    return 1


def figure(rows):
    """One contestant's figure from its rows of several rounds: medians of their times."""
    if not rows:
        return None
    result = {name: median(row[name] for row in rows) for name in ("min_us", "median_us", "p99_us")}
    return result | {
        "rounds": len(rows),
        "wrong": sum(row["wrong"] for row in rows),
        "notes": sorted({row["note"] for row in rows if row.get("note")}),
    }


def line_of(rounds, contestants, test, size, distance):
    """One line of a table: figures, best peer, ratio, target, and whether it is met (None: nothing to say)."""
    ranks, transport = rounds[0]["ranks"], rounds[0]["transport"]
    figures = {}
    for name in contestants:
        rows = [
            row
            for each in rounds
            for row in each["turns"].get(name, ())
            if (row["test"], row["size"]) == (test, size)
        ]
        found = figure(rows)
        if found:
            found["busbw_GBps"] = (
                size / found["median_us"] / 1e3 * bus_factor(test, ranks) if found["median_us"] > 0 else 0
            )
            figures[name] = found
    peers = {
        name: found["median_us"]
        for name, found in figures.items()
        if name != OURS and name not in REFERENCES and found["wrong"] == 0
    }
    best = min(peers, key=peers.get, default=None)
    ratio = figures[OURS]["median_us"] / peers[best] if best and OURS in figures and peers[best] > 0 else None
    target = target_of(transport, ranks, test, size, distance)
    met = None
    if ratio is not None and target is not None:
        met = ratio <= target and figures[OURS]["wrong"] == 0
    return {
        "test": test,
        "size": size,
        "figures": figures,
        "best": best,
        "ratio": ratio,
        "target": target,
        "met": met,
    }


def tables_of(rounds, contestants):
    """A table for each transport, number of ranks, test and distance of the cores, in the order of measuring."""
    tables = {}
    for one_round in rounds:
        tests = dict.fromkeys(row["test"] for rows in one_round["turns"].values() for row in rows)
        for test in tests:
            key = (one_round["transport"], one_round["ranks"], test, distance_of(one_round))
            tables.setdefault(key, []).append(one_round)
    result = []
    for (transport, ranks, test, distance), members in tables.items():
        sizes = sorted(
            {
                row["size"]
                for each in members
                for rows in each["turns"].values()
                for row in rows
                if row["test"] == test
            }
        )
        lines = [line_of(members, contestants, test, size, distance) for size in sizes]
        shown = [name for name in contestants if any(name in line["figures"] for line in lines)]
        trips = [trip for each in members for trip in each["trips_ns"] or () if trip is not None]
        result.append(
            {
                "transport": transport,
                "ranks": ranks,
                "test": test,
                "distance": distance,
                "rounds": len(members),
                "trips_ns": [min(trips), max(trips)] if trips else None,
                "contestants": shown,
                "lines": lines,
            }
        )
    return sorted(
        result, key=lambda table: (table["ranks"], table["transport"], table["test"], table["distance"] != "near")
    )


def size_text(size):
    for unit, name in ((MIB, "M"), (KIB, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def us_text(value):
    return f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:.1f}"


def _cells(line, contestants):
    cells = [size_text(line["size"])]
    for name in contestants:
        found = line["figures"].get(name)
        if not found:
            cells += ["-"] if name in REFERENCES else ["-", "-"]
            continue
        mark = "!" if found["wrong"] else ""
        cells.append(us_text(found["median_us"]) + mark)
        if name not in REFERENCES:
            cells.append(f"{found['busbw_GBps']:.2f}")
    cells.append(line["best"] or "-")
    cells.append("-" if line["ratio"] is None else f"{line['ratio']:.2f}")
    target = line["target"]
    cells.append("-" if target is None else "< 1" if target == AHEAD else f"<= {target:.2f}")
    cells.append({None: "-", True: "met", False: "missed"}[line["met"]])
    return cells


def text_of(table):
    """A table as lines of text."""
    heads = ["size"]
    for name in table["contestants"]:
        heads += [f"{name} us"] if name in REFERENCES else [f"{name} us", "GB/s"]
    heads += ["best peer", "ratio", "target", ""]
    cells = [heads] + [_cells(line, table["contestants"]) for line in table["lines"]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    trips = table["trips_ns"]
    cores = f"cores {table['distance']}" + (f" (trip {trips[0]:.0f} to {trips[1]:.0f} ns)" if trips else "")
    title = f"{table['test']}, {table['transport']}, {table['ranks']} ranks, {table['rounds']} rounds, {cores}"
    return [title] + ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]


def notes_of(table):
    """What a table cannot show: wrong results, rounds that a contestant missed, remarks of the peers."""
    notes = []
    for name in table["contestants"]:
        found = [(size_text(line["size"]), line["figures"].get(name)) for line in table["lines"]]
        wrong = [f"{size} ({each['wrong']} elements)" for size, each in found if each and each["wrong"]]
        if wrong:
            notes.append(f"{name}: WRONG RESULTS at {', '.join(wrong)}")
        short = [f"{size} ({each['rounds']})" for size, each in found if each and each["rounds"] < table["rounds"]]
        if short:
            notes.append(f"{name}: fewer than {table['rounds']} rounds at {', '.join(short)}")
        remarks = [f"{size} {' / '.join(each['notes'])}" for size, each in found if each and each["notes"]]
        if remarks:
            notes.append(f"{name}: {', '.join(remarks)}")
    return notes
