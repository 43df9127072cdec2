#!/usr/bin/env bash
# Runs cerify conform on the engine ENGINE, or on that which COMMAND starts, and writes to the folder REPORT: report.html,
# junit.xml, badge.svg, run.jsonl (a baseline for later runs) and summary.txt (what has changed since BASELINE). Exits as
# cerify conform does.
#
# ENGINE    a name that cerify engines lists    COMMAND   a shell command, if ENGINE is not set
# POLICY    a profile, or nothing
# OPTIONS   further options of cerify conform   BASELINE  an earlier run.jsonl, or nothing
# REPORT    the folder; cerify-report if not set
set -uo pipefail
if test -n "${ENGINE:-}"; then
    test -z "${COMMAND:-}" || { echo "ENGINE and COMMAND are both set: leave one of them out" >&2; exit 2; }
    tested=(--engine "$ENGINE")
else
    : "${COMMAND:?COMMAND is not set: it is the shell command that starts the adapter of the engine. Or set ENGINE, a name}"
    tested=(-- bash -c "$COMMAND")
fi
report=${REPORT:-cerify-report}
mkdir -p "$report" || exit 2

options=(--html "$report/report.html" --junit "$report/junit.xml" --badge "$report/badge.svg")
test -z "${POLICY:-}" || options+=(--policy "$POLICY")
test -z "${BASELINE:-}" || options+=(--baseline "$BASELINE")
read -ra further <<<"${OPTIONS:-}"

# Nothing of an earlier run is left to be taken for this one; its run.jsonl may be the baseline, and is replaced in the end.
rm -f "$report"/{report.html,junit.xml,badge.svg,summary.txt}
cerify conform --json "${options[@]}" "${further[@]}" "${tested[@]}" >"$report/run.jsonl.new"
status=$?
if test -s "$report/run.jsonl.new"; then
    cerify trend ${BASELINE:+"$BASELINE"} "$report/run.jsonl.new" | tee "$report/summary.txt"
    mv "$report/run.jsonl.new" "$report/run.jsonl"
else
    rm -f "$report/run.jsonl.new"
fi
exit "$status"
