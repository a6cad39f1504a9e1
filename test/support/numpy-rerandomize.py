"""A re-randomization test of a bundle by numpy alone: a second program, written from docs/rerandomization.md.

usage: numpy-rerandomize.py BUNDLE OUTCOMES STATISTIC SEED REPS [ARM,ARM]

The file of outcomes has the columns id and y. For studies of which every participant was drawn here, without a ratio.
"""

import csv
import importlib
import json
import sys
import zipfile

from numpy.random import PCG64, Generator

# In the same folder. It holds the urn, for comparison of single draws.
oracle = importlib.import_module("numpy-oracle")

bundle, outcomes_file, statistic, seed, reps = sys.argv[1:6]
compared = sys.argv[6].split(",") if len(sys.argv) > 6 else None

with zipfile.ZipFile(bundle) as archive:
    [path] = [name for name in archive.namelist() if name.startswith("records/study-")]
    lines = archive.read(path).decode("utf-8").split("\n")[:-1]
records = [[json.loads(field) for field in line.split("\t")[1:]] for line in lines]
configuration = records[0][0]["data"]["configuration"]
arms = configuration["treatments"]
factors = sorted(factor["name"] for factor in configuration["factors"])

participants = []
for record, sealed in records[1:]:
    if record["type"] == "ParticipantRandomized":
        levels = {level["factor"]: level["level"] for level in record["data"]["levels"]}
        arm = arms.index(sealed["allocation"]["treatment"])
        participants.append((record["data"]["participantId"], levels, arm))

with open(outcomes_file, newline="", encoding="utf-8") as file:
    outcomes = {row["id"]: float(row["y"]) for row in csv.DictReader(file) if row["y"] != ""}

tested = [arms.index(name) for name in compared] if compared else list(range(len(arms)))


def candidates_of(history, levels):
    urns = {}
    for factor in factors:
        same = [arm for other, arm in history if other[factor] == levels[factor]]
        urns[factor] = oracle.fill(configuration, [same.count(arm) for arm in range(len(arms))])
    imbalance = oracle.MEASURES[configuration["D"]]
    worst = max(imbalance(balls) for balls in urns.values())
    return [urns[factor] for factor in factors if imbalance(urns[factor]) == worst]


def chances_of(urns):
    """Before the lot: the mean over the candidates."""
    return [
        sum(balls[arm] / sum(balls) for balls in urns) / len(urns) for arm in range(len(arms))
    ]


def replicate(generator):
    """The arms, and the weight, which is 1 unless two of several arms are compared."""
    history, weight = [], 1.0
    for _, levels, recorded in participants:
        urns = candidates_of(history, levels)
        if compared is None:
            lot = int(generator.integers(0, len(urns))) if len(urns) > 1 else 0
            balls = urns[lot]
            arm = int(generator.choice(len(arms), p=[ball / sum(balls) for ball in balls]))
        else:
            chances = chances_of(urns)
            arm = recorded
            if recorded not in tested:
                weight *= chances[recorded]
            else:
                both = sum(chances[one] for one in tested)
                weight *= both
                if generator is not None:
                    first, second = sorted(tested)
                    arm = first if generator.random() < chances[first] / both else second
        history.append((levels, arm))
    return [arm for _, arm in history], weight


def ranks_of(values):
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


analysed = [
    place for place, (name, _, arm) in enumerate(participants) if name in outcomes and arm in tested
]
values = [outcomes[participants[place][0]] for place in analysed]
if statistic in ("ranksum", "kruskal"):
    values = ranks_of(values)


def statistic_of(allocated):
    """None if an arm has no outcome."""
    groups = {
        arm: [value for value, place in zip(values, analysed) if allocated[place] == arm]
        for arm in sorted(tested)
    }
    if any(not group for group in groups.values()):
        return None
    first, second = list(groups.values())[:2]
    n = len(values)
    if statistic == "mean":
        return abs(sum(first) / len(first) - sum(second) / len(second))
    if statistic == "ranksum":
        return abs(sum(first) - len(first) * (n + 1) / 2)
    mean = sum(values) / n
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values())
    within = sum(sum((value - sum(g) / len(g)) ** 2 for value in g) for g in groups.values())
    if statistic == "F":
        return (between / (len(groups) - 1)) / (within / (n - len(groups)))
    return (n - 1) * between / (between + within)


observed = statistic_of([arm for _, _, arm in participants])
least = observed - 1e-12 * max(1, abs(observed))
base = 2**100 + 2**32 * int(seed)
_, recorded_weight = replicate(None) if compared else (None, 1.0)
b, total, extreme = 0, recorded_weight, recorded_weight
for r in range(int(reps)):
    allocated, weight = replicate(Generator(PCG64(base + r)))
    found = statistic_of(allocated)
    total += weight
    if found is None or found >= least:
        b += 1
        extreme += weight
json.dump({"T": observed, "b": b, "p": extreme / total}, sys.stdout)
