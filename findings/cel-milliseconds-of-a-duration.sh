#!/usr/bin/env bash
# CEL in Python 3: cel-expr-python 0.1.3 (Google's C++), cel-python 0.5.0, common-expression-language 0.10.0 (Rust). getHours, getMinutes and
# getSeconds of a duration give all of it in that unit, in all three. getMilliseconds gives all of it in two of them, and the part below
# a second in Google's: a rule that says `took.getMilliseconds() < 1000` never fires in the one, and always in the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q common-expression-language==0.10.0 cel-expr-python==0.1.3 cel-python==0.5.0
"$folder/venv/bin/python" - <<'PYTHON' >"$folder/seen"
import cel as rust
import celpy
from cel_expr_python import cel as google

environment = celpy.Environment()
for text in ("getMinutes() == 1", "getSeconds() == 90", "getMilliseconds() == 90250", "getMilliseconds() == 250", "getMilliseconds() < 1000"):
    text = f'duration("90.25s").{text}'
    print(
        text,
        "| Google", google.NewEnv().compile(text).eval(data={}).value(),
        "| cel-python", bool(environment.program(environment.compile(text)).evaluate({})),
        "| Rust", rust.evaluate(text),
    )
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
duration("90.25s").getMinutes() == 1 | Google True | cel-python True | Rust True
duration("90.25s").getSeconds() == 90 | Google True | cel-python True | Rust True
duration("90.25s").getMilliseconds() == 90250 | Google False | cel-python True | Rust True
duration("90.25s").getMilliseconds() == 250 | Google True | cel-python False | Rust False
duration("90.25s").getMilliseconds() < 1000 | Google True | cel-python False | Rust False
SEEN
