#!/usr/bin/env python3
"""shares.py KIND: a flat report without call graph gives each function of the guest `shares` its share.

heavy, middling and light run one loop 6, 3 and 1 times as often; each has to have 60, 30 and 10 % of all samples, give
or take 2 points, so what the interpreter, the translation and libc keep for themselves is under 2 % too. KIND is what
--perf takes: one announcement or several.
"""
from perfcheck import GLASSBOX, check, main, recording

EXPECTED = {"heavy": 60, "middling": 30, "light": 10}
TOLERANCE = 2


def test(kind):
    with recording(kind, "shares", ["12000"]) as made:
        shares = made.shares("symbol")
        print(shares)
        for name, expected in EXPECTED.items():
            share = shares.get(name, 0)
            check(abs(share - expected) <= TOLERANCE, f"{name} has {share} %, should have {expected} %: {shares}")
        dsos = made.shares("dso")
        print(dsos)
        interpreter = dsos.get(GLASSBOX.rsplit("/", 1)[-1], 0)
        check(interpreter < 1, f"{interpreter} % of the samples are in the interpreter's own code")


main(test)
