"""What a simulation must give, for simulation-numpy.test.ts: reads one plan as JSON on stdin, writes the figures of every
design as JSON on stdout. It is written from the definitions in docs/statistics.md and shares nothing with src: it keeps whole
histories, counts by reading them again, and does least squares with numpy's matrices.

    answer   [{ name: { value, low, high } }]    one for the study's design, then one for each comparator
"""
import functools
import itertools
import json
import math
import sys

import numpy
from numpy.random import PCG64, Generator


def main():
    plan = json.load(sys.stdin)
    plan["seed"] = int(plan["seed"])
    own = {"rule": {"kind": "urn", **{k: plan["design"][k] for k in ("w", "alpha", "beta", "D")}}, "within": []}
    answer = []
    for comparator in [own] + plan["comparators"]:
        replicates = [replicate(plan, comparator, r) for r in range(plan["reps"])]
        answer.append(figures(plan, comparator, replicates))
    json.dump(answer, sys.stdout)


def index_of(cumulative, u):
    return next(k for k, c in enumerate(cumulative) if c > u)


def draw(generator, p):
    return index_of(numpy.cumsum(p) / numpy.cumsum(p)[-1], generator.random())


# Participants


def levels_of(plan, r):
    generator = Generator(PCG64(2**127 + plan["seed"] * 2**64 + r))
    arrivals = plan["arrivals"]
    if arrivals["kind"] == "rows":
        weights = numpy.array(arrivals["weights"], dtype=float)
        return [arrivals["rows"][draw(generator, weights / weights.sum())] for _ in range(plan["participants"])]
    participants = []
    for i in range(1, plan["participants"] + 1):
        levels = []
        for factor, shares in enumerate(arrivals["shares"]):
            shares = numpy.array(shares, dtype=float)
            for opens in arrivals["opens"]:
                if opens["factor"] == factor and i < opens["from"]:
                    shares[opens["level"]] = 0
            levels.append(draw(generator, shares / shares.sum()))
        participants.append(levels)
    return participants


# Designs: each gives p of every arm, and a function that draws one. A history is a list of (levels, arm, slot).


def replicate(plan, comparator, r):
    generator = Generator(PCG64(plan["seed"] * 2**64 + r))
    history, chances, drawn, memory = [], [], [], {}
    for levels in levels_of(plan, r):
        rule = RULES[comparator["rule"]["kind"]]
        p, arm, slot, factor = rule(plan["design"], comparator, history, levels, generator, memory)
        history.append((levels, arm, slot))
        chances.append([float(one) for one in p])
        drawn.append(factor)
    return history, chances, drawn


def imbalance(measure, balls):
    total = sum(balls)
    if measure == "range":
        return (max(balls) - min(balls)) / total
    f = [b / total for b in balls]
    m = 0.0
    for one in f:
        m += one
    m /= len(f)
    distance = 0.0
    for one in f:
        distance += (one - m) * (one - m) / (m if measure == "chisquare" else 1)
    return distance if measure == "chisquare" else distance / (len(f) - 1)


def urn(design, comparator, history, levels, generator, _memory):
    rule, ratio = comparator["rule"], design["ratio"]
    arms = [k for k, r in enumerate(ratio) for _ in range(r)]
    within = comparator["within"] or range(len(design["factors"]))
    urns = []
    for factor in within:
        alike = [slot for past, _, slot in history if past[factor] == levels[factor]]
        n = [alike.count(slot) for slot in range(len(arms))]
        balls = [rule["w"] + rule["alpha"] * one + rule["beta"] * (sum(n) - one) for one in n]
        measured = sorted(balls) if max(ratio) > 1 else balls
        urns.append((imbalance(rule["D"], measured), design["factors"][factor]["name"], factor, balls))
    most = max(d for d, *_ in urns)
    candidates = sorted((one for one in urns if one[0] == most), key=lambda one: one[1])
    p = [0.0] * len(ratio)
    for _, _, _, balls in candidates:
        for arm, held in zip(arms, balls):
            p[arm] += held / sum(balls) / len(candidates)
    _, _, factor, balls = candidates[generator.integers(0, len(candidates)) if len(candidates) > 1 else 0]
    slot = draw(generator, [held / sum(balls) for held in balls])
    return p, arms[slot], slot, factor


def complete(design, _comparator, _history, _levels, generator, _memory):
    p = [r / sum(design["ratio"]) for r in design["ratio"]]
    arm = draw(generator, p)
    return p, arm, arm, None


def stratum(comparator, levels):
    return tuple(levels[factor] for factor in comparator["within"])


def block(design, comparator, _history, levels, generator, memory):
    left = memory.setdefault(stratum(comparator, levels), [])
    if not left:
        sizes = comparator["rule"]["sizes"]
        size = sizes[generator.integers(0, len(sizes))]
        left.extend([k for k, r in enumerate(design["ratio"]) for _ in range(r)] * (size // sum(design["ratio"])))
    p = [left.count(k) / len(left) for k in range(len(design["ratio"]))]
    arm = draw(generator, p)
    left.remove(arm)
    return p, arm, arm, None


def minimization(design, comparator, history, levels, generator, _memory):
    K, p = len(design["ratio"]), comparator["rule"]["p"]
    sums = []
    for arm in range(K):
        total = 0
        for factor in comparator["within"] or range(len(levels)):
            alike = [a for past, a, _ in history if past[factor] == levels[factor]] + [arm]
            counts = [alike.count(k) for k in range(K)]
            total += max(counts) - min(counts)
        sums.append(total)
    # The mean over all orders of the arms that agree with the sums: the first gets p, the others the rest alike.
    orders = [o for o in itertools.permutations(range(K)) if all(sums[a] <= sums[b] for a, b in zip(o, o[1:]))]
    chances = [0.0] * K
    for order in orders:
        for place, arm in enumerate(order):
            chances[arm] += (p if place == 0 else (1 - p) / (K - 1)) / len(orders)
    arm = draw(generator, chances)
    return chances, arm, arm, None


def two_arms(design, comparator, history, levels, generator, chance):
    alike = [arm for past, arm, _ in history if stratum(comparator, past) == stratum(comparator, levels)]
    p = chance(alike.count(0) - alike.count(1))
    arm = draw(generator, [p, 1 - p])
    return [p, 1 - p], arm, arm, None


def efron(design, comparator, history, levels, generator, _memory):
    p = comparator["rule"]["p"]
    return two_arms(design, comparator, history, levels, generator, lambda d: [p, 0.5, 1 - p][(d > 0) - (d < 0) + 1])


def bigstick(design, comparator, history, levels, generator, _memory):
    limit = comparator["rule"]["limit"]
    return two_arms(
        design, comparator, history, levels, generator, lambda d: 0.5 if abs(d) < limit else float(d < 0)
    )


RULES = {
    "urn": urn,
    "complete": complete,
    "block": block,
    "minimization": minimization,
    "efron": efron,
    "bigstick": bigstick,
}

# Figures


def counts_of(history, K):
    return [sum(1 for _, arm, _ in history if arm == k) for k in range(K)]


def spread(ratio, counts):
    scaled = [n / r for n, r in zip(counts, ratio)]
    return sum(ratio) / len(ratio) * (max(scaled) - min(scaled))


def spread_in(ratio, history):
    return spread(ratio, counts_of(history, len(ratio)))


def around(value, error):
    return {"value": value, "low": value - 1.96 * error, "high": value + 1.96 * error}


def mean(values):
    error = numpy.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return around(float(numpy.mean(values)), float(error))


def wilson(count, R):
    z, p = 1.96, count / R
    centre = (p + z * z / (2 * R)) / (1 + z * z / R)
    half = z * math.sqrt(p * (1 - p) / R + z * z / (4 * R * R)) / (1 + z * z / R)
    return {"value": p, "low": centre - half, "high": centre + half}


@functools.cache
def ranks_around(percent, R):
    q = percent / 100
    at_most = lambda k: sum(math.comb(R, i) * q**i * (1 - q) ** (R - i) for i in range(k + 1))
    low = max([k for k in range(1, R + 1) if at_most(k - 1) <= 0.025], default=1)
    return low, min([k for k in range(1, R + 1) if 1 - at_most(k - 1) <= 0.025], default=R)


def quantile(values, percent):
    ordered, R = sorted(values), len(values)
    low, high = ranks_around(percent, R)
    value = next(v for k, v in enumerate(ordered, 1) if 100 * k >= percent * R)
    return {"value": value, "low": ordered[low - 1], "high": ordered[high - 1]}


def range_figures(name, ranges, sizes):
    figures = {f"{name}.mean": mean(ranges)}
    for percent in (5, 25, 50, 75, 95):
        figures[f"{name}.p{percent:02}"] = quantile(ranges, percent)
    for percent in (5, 10):
        many = sum(1 for one, n in zip(ranges, sizes) if one >= n * percent / 100 - 1e-9)
        figures[f"{name}.ge{percent}"] = wilson(many, len(ranges))
    return figures


def guess(ratio, counts, p):
    scaled = [n / r for n, r in zip(counts, ratio)]
    behind = [k for k in range(len(ratio)) if scaled[k] <= min(scaled) + 1e-9]
    behind = [k for k in behind if ratio[k] == max(ratio[j] for j in behind)]
    return sum(p[k] for k in behind) / len(behind)


def loss(design, history):
    ratio, n = design["ratio"], len(history)
    K = len(ratio)
    T = numpy.array([[float(arm == k) for k in range(K - 1)] for _, arm, _ in history])
    columns = [[1.0] * n]
    for factor, one in enumerate(design["factors"]):
        columns += [[float(past[factor] == level) for past, _, _ in history] for level in range(len(one["levels"]))]
    X = numpy.array(columns).T
    rest = T - X @ numpy.linalg.lstsq(X, T, rcond=1e-9)[0]
    product = numpy.prod([r / sum(ratio) for r in ratio])
    determinant = float(numpy.linalg.det(rest.T @ rest))
    if determinant < 1e-9:  # an empty arm, or one that the levels tell: 0, but for rounding, of which a root is taken
        return float(n)
    return n * (1 - (determinant / n ** (K - 1) / product) ** (1 / (K - 1)))


def drift(design, history):
    shares = [r / sum(design["ratio"]) for r in design["ratio"]]
    N = len(history)
    middle = (N + 1) / 2
    sums = [
        sum((float(arm == k) - share) * (i - middle) for i, (_, arm, _) in enumerate(history, 1))
        for k, share in enumerate(shares)
    ]
    unit = (1 - sum(s * s for s in shares)) * sum((i - middle) ** 2 for i in range(1, N + 1))
    return sum(s * s for s in sums) / unit


def figures(plan, comparator, replicates):
    design, N = plan["design"], plan["participants"]
    ratio, factors = design["ratio"], design["factors"]
    K, R = len(ratio), len(replicates)
    result = {}
    for n in plan["at"]:
        pasts = [history[:n] for history, _, _ in replicates]
        alls = [n] * R
        result.update(range_figures(f"overall.range@{n}", [spread_in(ratio, past) for past in pasts], alls))
        largest = [0.0] * R
        for factor, one in enumerate(factors):
            for level, name in enumerate(one["levels"]):
                alike = [[h for h in past if h[0][factor] == level] for past in pasts]
                ranges = [spread_in(ratio, past) for past in alike]
                largest = [max(pair) for pair in zip(largest, ranges)]
                result.update(
                    range_figures(f"level.{one['name']}.{name}.range@{n}", ranges, [len(past) for past in alike])
                )
        result.update(range_figures(f"levels.range@{n}", largest, alls))
        within = [
            max(spread_in(ratio, [h for h in past if h[0] == one]) for one in map(list, {tuple(h[0]) for h in past}))
            for past in pasts
        ]
        result.update(range_figures(f"strata.range@{n}", within, alls))
        result[f"loss@{n}"] = mean([loss(design, past) for past in pasts])
        if K == 2:
            d = numpy.array([counts_of(past, K)[0] - counts_of(past, K)[1] for past in pasts], dtype=float)
            sd = float(numpy.std(d, ddof=1))
            error = float(numpy.std((d - d.mean()) ** 2, ddof=1)) / math.sqrt(R) / (2 * sd) if sd > 0 else 0.0
            result[f"difference.sd@{n}"] = around(sd, error)
    courses = [[spread_in(ratio, history[: i + 1]) for i in range(N)] for history, _, _ in replicates]
    result.update(range_figures("course.range", [max(course) for course in courses], [N] * R))
    result["balanced"] = mean([sum(1 for one in course if one < 1e-9) / N for course in courses])
    per_step = {"guess.known": lambda p: max(p), "entropy": lambda p: -sum(x * math.log(x) for x in p if x > 0)}
    for percent in (80, 90, 100):
        per_step[f"certain.{percent}"] = lambda p, least=percent / 100: float(max(p) >= least - 1e-12)
    if K == 2:
        per_step["forcing"] = lambda p: 4 * abs(p[0] - 0.5)
    for name, of in per_step.items():
        result[name] = mean([sum(map(of, chances)) / N for _, chances, _ in replicates])
    result["guess.blind"] = around(max(ratio) / sum(ratio), 0)
    seen = {"guess.naive": lambda levels, past: past}
    site = plan.get("siteFactor")
    if site is not None:
        seen["guess.site"] = lambda levels, past: [h for h in past if h[0][site] == levels[site]]
    for name, of in seen.items():
        result[name] = mean(
            [
                sum(guess(ratio, counts_of(of(history[i][0], history[:i]), K), chances[i]) for i in range(N)) / N
                for history, chances, _ in replicates
            ]
        )
    result["drift"] = mean([drift(design, history) for history, _, _ in replicates])
    p = numpy.array([chances for _, chances, _ in replicates])
    off = p.mean(axis=0) - numpy.array([r / sum(ratio) for r in ratio])
    i, k = numpy.unravel_index(numpy.argmax(numpy.abs(off) > numpy.abs(off).max() - 1e-12), off.shape)
    error = float(numpy.std(p[:, i, k], ddof=1)) / math.sqrt(R)
    result["share"] = around(float(numpy.abs(off).max()), error)
    within = comparator["within"] or range(len(factors))
    if comparator["rule"]["kind"] == "urn" and len(within) > 1:
        for factor in within:
            shares = [drawn.count(factor) / N for _, _, drawn in replicates]
            result[f"drawn.{factors[factor]['name']}"] = mean(shares)
    return result


main()
