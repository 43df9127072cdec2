#!/usr/bin/env bash
# Runs cerify conform on the engine that COMMAND starts, and writes to the folder REPORT: report.html, junit.xml, badge.svg,
# run.jsonl (a baseline for later runs) and summary.txt (what has changed since BASELINE). Exits as cerify conform does.
#
# COMMAND   a shell command                     POLICY    a profile, or nothing
# OPTIONS   further options of cerify conform   BASELINE  an earlier run.jsonl, or nothing
# REPORT    the folder; cerify-report if not set
set -uo pipefail
: "${COMMAND:?COMMAND is not set: it is the shell command that starts the adapter of the engine}"
report=${REPORT:-cerify-report}
mkdir -p "$report" || exit 2

options=(--html "$report/report.html" --junit "$report/junit.xml" --badge "$report/badge.svg")
test -z "${POLICY:-}" || options+=(--policy "$POLICY")
test -z "${BASELINE:-}" || options+=(--baseline "$BASELINE")
read -ra further <<<"${OPTIONS:-}"

# Nothing of an earlier run is left to be taken for this one; its run.jsonl may be the baseline, and is replaced in the end.
rm -f "$report"/{report.html,junit.xml,badge.svg,summary.txt}
cerify conform --json "${options[@]}" "${further[@]}" -- bash -c "$COMMAND" >"$report/run.jsonl.new"
status=$?
if test -s "$report/run.jsonl.new"; then
    cerify trend ${BASELINE:+"$BASELINE"} "$report/run.jsonl.new" | tee "$report/summary.txt"
    mv "$report/run.jsonl.new" "$report/run.jsonl"
else
    rm -f "$report/run.jsonl.new"
fi
exit "$status"
