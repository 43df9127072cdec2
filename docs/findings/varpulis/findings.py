"""Prints what varpulis-sase 0.11.0 answers to ten patterns, without cerify; the argument is the program in Rust."""

import json
import subprocess
import sys


def show(steps, letters, strategy="any", attributes=(), **more):
    pattern = [
        {"type": one[0], "alias": one.lower(), "plus": "+" in one, "conditions": [], "references": []} for one in steps
    ]
    events = [[letter, second, dict(attributes)] for second, letter in enumerate(letters)]
    question = {"steps": pattern, "strategy": strategy, "partition": None, "within": None, "events": events, **more}
    answered = subprocess.run([sys.argv[1]], input=json.dumps(question), capture_output=True, text=True).stdout
    print(steps, letters, strategy, more, [[place for _, place in taken] for _, taken in json.loads(answered)])


show(["A", "B"], "ABBZ")
show(["A", "B"], "ABBZ", "next")
show(["A+", "B"], "AACBZ")
show(["A", "B"], "ACCB", within=3)
show(["A", "B"], "AB", partition="k")
show(["A"], "A", "next", attributes=[("k", 0)], partition="k")
show(["A"], "AA", "next", attributes=[("k", 0)], partition="k")
show(["A+"], "AADAZ", "next")
show(["A+", "A"], "AADAZ", "next")
show(["B", "A+"], "BADAZ", "next")
