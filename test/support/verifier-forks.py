"""Runs the verifier once for each line of stdin, a JSON list of its path and arguments; answers each with a line of JSON.

Each run is the whole program in a process of its own. The processes are forked from one that has imported numpy and
cryptography already, which is nearly all that a run of a small bundle takes.
"""
import json
import os
import runpy
import sys
import tempfile

import numpy.random  # noqa: F401

try:
    import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401
except ImportError:
    pass  # the verifier does without, and says so

for line in sys.stdin:
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            sys.argv = json.loads(line)
            runpy.run_path(sys.argv[0], run_name="__main__")
            sys.exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stdout.seek(0)
        stderr.seek(0)
        print(json.dumps([code, stdout.read().decode(), stderr.read().decode()]), flush=True)
