"""What numpy does, for numpy-differential.test.ts: reads one JSON request on stdin, writes one JSON answer on stdout.

    request  { sequences: [{ seed, operations: [{ op, ... }] }],
               histories: [{ seed, configuration, participants: [[level name per factor]] }] }
    answer   { numpy, sequences: [{ start, results: [{ value, state }] }],
               histories: [{ start, allocations: [...] }] }

Integers above 2^53 are decimal strings; a double u = k * 2^-53 is the integer k. The urn is written here from its
specification and shares nothing with src/core/methods/urn: it counts by reading the whole history again for every participant.
"""
import json
import sys

import numpy
from numpy.random import PCG64, Generator


def main():
    request = json.load(sys.stdin)
    answer = {
        "numpy": numpy.__version__,
        "sequences": [run_sequence(**sequence) for sequence in request["sequences"]],
        "histories": [run_history(**history) for history in request["histories"]],
    }
    json.dump(answer, sys.stdout)


def state_of(generator):
    state = generator.bit_generator.state
    return {
        "bit_generator": state["bit_generator"],
        "state": {name: str(int(value)) for name, value in state["state"].items()},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def uniform53(u):
    k = int(float(u) * 2.0**53)
    assert k * 2.0**-53 == u
    return k


# Sequences of operations on one generator


def run_sequence(seed, operations):
    generator = Generator(PCG64(int(seed)))
    start = state_of(generator)
    results = []
    for operation in operations:
        value = OPERATIONS[operation["op"]](generator, operation)
        results.append({"value": value, "state": state_of(generator)})
    return {"start": start, "results": results}


def choose(generator, operation):
    balls = operation["balls"]
    return int(generator.choice(len(balls), p=[b / sum(balls) for b in balls]))


def reload_state(generator, _):
    state = generator.bit_generator.state
    generator.random(3)
    generator.integers(0, 2)
    generator.bit_generator.state = state
    return 0


OPERATIONS = {
    "uint64": lambda generator, _: str(int(generator.bit_generator.random_raw())),
    "random": lambda generator, _: uniform53(generator.random()),
    "below": lambda generator, operation: int(generator.integers(0, operation["n"])),
    "choice": choose,
    "reload": reload_state,
}


# Histories of whole studies


def run_history(seed, configuration, participants):
    generator = Generator(PCG64(int(seed)))
    start = state_of(generator)
    history = []
    allocations = []
    for levels in participants:
        participant = {f["name"]: level for f, level in zip(configuration["factors"], levels)}
        allocation = allocate(generator, configuration, history, participant)
        history.append((participant, allocation["treatment"]))
        allocations.append(allocation)
    return {"start": start, "allocations": allocations}


def allocate(generator, configuration, history, participant):
    before = state_of(generator)
    treatments = configuration["treatments"]
    urns = {}
    for factor, level in participant.items():
        assigned = [treatment for other, treatment in history if other[factor] == level]
        counts = [assigned.count(treatment) for treatment in treatments]
        urns[factor] = counts, fill(configuration, counts)

    imbalances = {factor: MEASURES[configuration["D"]](balls) for factor, (_, balls) in urns.items()}
    worst = max(imbalances.values())
    candidates = sorted(factor for factor, d in imbalances.items() if d == worst)
    selected = candidates[0]
    if len(candidates) > 1:
        selected = candidates[int(generator.integers(0, len(candidates)))]

    counts, balls = urns[selected]
    # The uniform is seen by a second generator, so that the draw itself is all numpy's own.
    witness = Generator(PCG64(0))
    witness.bit_generator.state = generator.bit_generator.state
    treatment = int(generator.choice(len(treatments), p=[b / sum(balls) for b in balls]))
    return {
        "slot": treatment,
        "treatment": treatments[treatment],
        "bgStateBefore": before,
        "bgStateAfter": state_of(generator),
        "candidates": candidates,
        "selectedFactor": selected,
        "counts": counts,
        "balls": balls,
        "uniform53": uniform53(witness.random()),
    }


def fill(configuration, counts):
    everyone = sum(counts)
    return [
        configuration["w"] + configuration["alpha"] * n + configuration["beta"] * (everyone - n) for n in counts
    ]


def add_up(terms):
    # Not sum(): since Python 3.12 it compensates for rounding.
    total = 0.0
    for term in terms:
        total = total + term
    return total


def spread(balls):
    return (max(balls) - min(balls)) / sum(balls)


def variance(balls):
    fractions = [b / sum(balls) for b in balls]
    mean = add_up(fractions) / len(balls)
    return add_up([(mean - f) * (mean - f) for f in fractions]) / (len(balls) - 1)


def chisquare(balls):
    fractions = [b / sum(balls) for b in balls]
    mean = add_up(fractions) / len(balls)
    return add_up([(f - mean) * (f - mean) / mean for f in fractions])


MEASURES = {"range": spread, "variance": variance, "chisquare": chisquare}

if __name__ == "__main__":
    main()
