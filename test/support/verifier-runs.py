"""Runs the verifier that it is given once for each line of stdin, a JSON list of arguments; answers each with a line of JSON.

The program is loaded once and keeps nothing between runs: starting Python, its imports and its regular expressions
take many times as long as verifying a small bundle.
"""
import contextlib
import importlib.util
import io
import json
import sys
import traceback


def loaded(path):
    spec = importlib.util.spec_from_file_location("verify_bundle", path)
    program = sys.modules["verify_bundle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def exit_code(program, argv):
    sys.argv = argv
    try:
        return program.main()
    except SystemExit as ended:
        return ended.code
    except BaseException:
        traceback.print_exc()
        return 1


def new_output():
    """Refuses what a pipe would refuse: text that UTF-8 cannot write."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


verifier = sys.argv[1]
program = loaded(verifier)
for line in sys.stdin:
    stdout, stderr = new_output(), new_output()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = exit_code(program, [verifier, *json.loads(line)])
    print(json.dumps([code, *(output.buffer.getvalue().decode() for output in (stdout, stderr))]), flush=True)
