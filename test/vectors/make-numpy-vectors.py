#!/usr/bin/env python3
"""Makes vectors of numpy's SeedSequence, PCG64 and Generator from the numpy that is installed, on standard output.

    make-numpy-vectors.py                  the seeds of numpy-pcg64.json
    make-numpy-vectors.py --edges          the seeds of numpy-pcg64-edges.json
    make-numpy-vectors.py SEED [SEED ...]  other seeds, decimal or 0x...

Every list of a vector but one begins with a fresh generator of the seed: next_uint64, random, integers_below and
choice_p. Within a list the generator goes on. generate_state_u32 is the SeedSequence's alone. Doubles are written as
C99 hexadecimal, integers above 2^53 as decimal strings.
"""
import json
import sys

import numpy
from numpy.random import PCG64, Generator, SeedSequence

SEEDS = [
    0, 1, 2, 42, 100, 2**31 - 1, 2**32 - 1, 2**32, 2**32 + 1, 12345678901234567890, 2**64, 2**96 + 7,
    2**127 + 3, 2**128 - 1, 2**160 + 99,
]
EDGES = [
    2**64 - 1, 2**96 - 1, 2**96, 2**128, 2**128 + 1, 2**128 + 2**32, 2**160, 2**192 + 12345, 2**256 - 1,
    3**1263, 2**4096, 3**6309,
]
BOUNDS = [1, 2, 3, 5, 7, 13, 100, 1000, 2**16, 2**31, 2**32 - 1, 2**32, 6, 3, 2]
PROBABILITIES = [
    [1 / 2] * 2, [1 / 3] * 3, [0.1, 0.2, 0.3, 0.4], [2 / 7, 3 / 7, 2 / 7], [1.0], [0.0, 1.0], [1 / 9] * 9,
]


def vector(seed):
    start = PCG64(seed).state["state"]
    raw = PCG64(seed)
    doubles = Generator(PCG64(seed))
    choices = Generator(PCG64(seed))
    return {
        "seed": str(seed),
        "generate_state_u32": SeedSequence(seed).generate_state(8).tolist(),
        "state": str(start["state"]),
        "inc": str(start["inc"]),
        "next_uint64": [str(int(raw.random_raw())) for _ in range(8)],
        "random": [float(doubles.random()).hex() for _ in range(8)],
        "integers_below": integers_below(seed),
        "choice_p": [
            {"p": [p.hex() for p in ps], "index": int(choices.choice(len(ps), p=ps))} for ps in PROBABILITIES
        ],
    }


def integers_below(seed):
    generator = Generator(PCG64(seed))
    draws = []
    for n in BOUNDS:
        value = int(generator.integers(0, n))
        state = generator.bit_generator.state
        draws.append({
            "n": str(n),
            "value": value,
            "has_uint32": int(state["has_uint32"]),
            "uinteger": int(state["uinteger"]),
            "state": str(state["state"]["state"]),
        })
    return draws


def seeds(arguments):
    if not arguments:
        return SEEDS
    if arguments == ["--edges"]:
        return EDGES
    return [int(argument, 0) for argument in arguments]


if __name__ == "__main__":
    vectors = [vector(seed) for seed in seeds(sys.argv[1:])]
    sys.stdout.write(json.dumps({"numpy": numpy.__version__, "vectors": vectors}, indent=1))
