"""Runs the verifier once for each line of stdin, a JSON list of its path and arguments; answers each with a line of JSON.

Each run is the whole program in a process of its own. The processes are forked from one that has compiled it, and has
run it once: compiling it, its imports and its regular expressions take four times as long as verifying a small bundle.
"""
import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
import types

programs = {}


def run(argv):
    """Its exit code."""
    path = argv[0]
    if path not in programs:
        with open(path, "rb") as source:
            programs[path] = compile(source.read(), path, "exec")
    sys.argv = argv
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        exec(programs[path], main.__dict__)
        return 0
    except SystemExit as ended:
        return ended.code
    except BaseException:
        traceback.print_exc()
        return 1


for line in sys.stdin:
    argv = json.loads(line)
    if argv[0] not in programs:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run(argv)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            code = run(argv)
            sys.stdout.flush()
            sys.stderr.flush()
            # Without the interpreter's tidying up, which takes as long as the rest.
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stdout.seek(0)
        stderr.seek(0)
        print(json.dumps([code, stdout.read().decode(), stderr.read().decode()]), flush=True)
