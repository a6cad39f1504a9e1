"""Runs the verifier once for each line of stdin, a JSON list of its path and arguments; answers each with a line of JSON.

Each run is a process of its own, forked from one that has loaded the program and run it once: starting Python, the
imports and the regular expressions take several times as long as verifying a small bundle.
"""
import contextlib
import gc
import importlib.util
import io
import json
import os
import sys
import tempfile
import traceback


def loaded(path):
    spec = importlib.util.spec_from_file_location("verify_bundle", path)
    program = sys.modules["verify_bundle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def run(program, argv):
    """Its exit code."""
    sys.argv = argv
    try:
        return program.main()
    except SystemExit as ended:
        return ended.code
    except BaseException:
        traceback.print_exc()
        return 1


programs = {}
for line in sys.stdin:
    argv = json.loads(line)
    if argv[0] not in programs:
        programs[argv[0]] = loaded(argv[0])
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run(programs[argv[0]], argv)
        # A collection in a child would copy every page of this process that holds an object.
        gc.disable()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            code = run(programs[argv[0]], argv)
            sys.stdout.flush()
            sys.stderr.flush()
            # Without the interpreter's tidying up, which takes as long as the rest.
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stdout.seek(0)
        stderr.seek(0)
        print(json.dumps([code, stdout.read().decode(), stderr.read().decode()]), flush=True)
