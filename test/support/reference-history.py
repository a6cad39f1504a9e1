"""Stands in for the reference implementation: reads a history as it does, writes it as it does, and goes on drawing.

usage: reference-history.py FILE OUT      on standard input {"configuration": …, "next": [[level, …], …]}

Reading and writing are the reference's calls of pandas. The urns and the draws are those of make-life-histories.py, which
shares no code with the service; random numbers are numpy's.
"""
import ast
import importlib.util
import json
import pathlib
import sys

import pandas

MAKER = pathlib.Path(__file__).parents[1] / "vectors" / "make-life-histories.py"
spec = importlib.util.spec_from_file_location("maker", MAKER)
maker = importlib.util.module_from_spec(spec)
sys.modules["maker"] = maker
spec.loader.exec_module(maker)


def read(file, factors):
    """A column whose name is not expected would make the reference refuse the file."""
    history = pandas.read_csv(file, dtype=object, encoding="utf8")
    expected = ["id", "user", "trt", "datetime", "bg_state"] + ["f_" + factor["name"] for factor in factors]
    assert sorted(history.columns) == sorted(expected), list(history.columns)
    # Instants are UTC; the database then keeps them without a zone.
    instants = pandas.to_datetime(history["datetime"], utc=True).dt.tz_localize(None)
    history = history.assign(datetime=instants, bg_state=history["bg_state"].apply(ast.literal_eval))
    assert history["id"].is_unique
    return history


def saved(state):
    """As the maker of histories and the log have it: large integers are texts."""
    return {**state, "state": {name: str(number) for name, number in state["state"].items()}}


def go_on(history, configuration, participants):
    """The arm and the state of each further participant."""
    arms = configuration["treatments"]
    factors = configuration["factors"]
    assigned = [
        ([row["f_" + factor["name"]] for factor in factors], arms.index(row["trt"]))
        for row in history.to_dict("records")
    ]
    state = saved(history.loc[history["datetime"].idxmax(), "bg_state"])
    drawn = []
    for levels in participants:
        rows = {
            factor["name"]: [
                sum(1 for had, arm in assigned if had[i] == levels[i] and arm == k) for k in range(len(arms))
            ]
            for i, factor in enumerate(factors)
        }
        arm, draw = maker.allocate(configuration, rows, state)
        state = draw["bgStateAfter"]
        assigned.append((levels, arm))
        drawn.append({"treatment": arms[arm], "state": state})
    return drawn


file, out = sys.argv[1:]
asked = json.load(sys.stdin)
configuration = asked["configuration"]
history = read(file, configuration["factors"])
history.to_csv(out, index=False)
answer = {
    "ids": history["id"].tolist(),
    "missing": int(history.isna().sum().sum()),
    "increasing": bool(history["datetime"].is_monotonic_increasing and history["datetime"].is_unique),
    "next": go_on(history, configuration, asked["next"]),
    "readAsMissing": sorted(pandas._libs.parsers.STR_NA_VALUES),
}
json.dump(answer, sys.stdout)
