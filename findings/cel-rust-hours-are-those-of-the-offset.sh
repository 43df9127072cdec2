#!/usr/bin/env bash
# common-expression-language 0.10.0 (the Rust implementation of CEL), Python 3. An accessor of a timestamp without a zone answers in UTC by
# CEL's definition. Here it answers in the offset that the text was written with: two timestamps that `==` calls equal have different
# hours, days and weekdays. cel-expr-python 0.1.3 (Google's C++) and cel-python 0.5.0 answer in UTC.
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
ZULU, BERLIN = 'timestamp("2026-01-01T23:30:00Z")', 'timestamp("2026-01-02T00:30:00+01:00")'
names = ("getHours", "getDate", "getDayOfWeek")
for text in (f"{ZULU} == {BERLIN}", *(f"{time}.{name}()" for name in names for time in (ZULU, BERLIN))):
    print(
        text,
        "| Rust", int(rust.evaluate(text)),
        "| Google", int(google.NewEnv().compile(text).eval(data={}).value()),
        "| cel-python", int(environment.program(environment.compile(text)).evaluate({})),
    )
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
timestamp("2026-01-01T23:30:00Z") == timestamp("2026-01-02T00:30:00+01:00") | Rust 1 | Google 1 | cel-python 1
timestamp("2026-01-01T23:30:00Z").getHours() | Rust 23 | Google 23 | cel-python 23
timestamp("2026-01-02T00:30:00+01:00").getHours() | Rust 0 | Google 23 | cel-python 23
timestamp("2026-01-01T23:30:00Z").getDate() | Rust 1 | Google 1 | cel-python 1
timestamp("2026-01-02T00:30:00+01:00").getDate() | Rust 2 | Google 1 | cel-python 1
timestamp("2026-01-01T23:30:00Z").getDayOfWeek() | Rust 4 | Google 4 | cel-python 4
timestamp("2026-01-02T00:30:00+01:00").getDayOfWeek() | Rust 5 | Google 4 | cel-python 4
SEEN
