#!/usr/bin/env bash
# cel-python 0.5.0 beside cel-expr-python 0.1.3, Python 3. string() of a timestamp or of a duration has no fraction in cel-python, though CEL's
# string and timestamp are inverse to each other; in cel-expr-python (the C++ implementation) it has. So two events 0.5 s apart have
# one text, a key made of it joins them, and a time that went through text is another time. The two also differ on getMilliseconds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q cel-python==0.5.0 cel-expr-python==0.1.3
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import celpy
from cel_expr_python import cel

python, other = celpy.Environment(), cel.NewEnv(variables={})
A, B = "timestamp('2024-01-01T00:00:00.2Z')", "timestamp('2024-01-01T00:00:00.7Z')"
for expression in (
    f"string({A})",
    "string(duration('1.5s'))",
    f"{A} == {B}",
    f"string({A}) == string({B})",
    f"timestamp(string({A})) == {A}",
    "duration(string(duration('1.5s'))) == duration('1.5s')",
    "duration('1.5s').getMilliseconds()",
):
    answers = python.program(python.compile(expression)).evaluate({}), other.compile(expression).eval(data={}).value()
    print("{}: cel-python {}, cel-expr-python {}".format(expression.replace(A, "A").replace(B, "B"), *answers))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
string(A): cel-python 2024-01-01T00:00:00Z, cel-expr-python 2024-01-01T00:00:00.200Z
string(duration('1.5s')): cel-python 1s, cel-expr-python 1.500s
A == B: cel-python False, cel-expr-python False
string(A) == string(B): cel-python True, cel-expr-python False
timestamp(string(A)) == A: cel-python False, cel-expr-python True
duration(string(duration('1.5s'))) == duration('1.5s'): cel-python False, cel-expr-python True
duration('1.5s').getMilliseconds(): cel-python 1500, cel-expr-python 500
SEEN
