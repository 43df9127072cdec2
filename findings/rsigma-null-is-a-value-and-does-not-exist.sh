#!/usr/bin/env bash
# rsigma-eval 0.23.0 (Rust, MIT), an evaluator of Sigma rules, on a field that is null: `exists: true` is false of it,
# as if the field was not there, but `value_count` counts null as a value. A field that is not there is not counted.
# Seen:
#   null -> exists: false, values: at least one
#   absent -> exists: false, values: none
#   "u" -> exists: true, values: at least one
set -euo pipefail
me=$(realpath "$0"); home=$(mktemp -d); trap 'rm -rf "$home"' EXIT; mkdir "$home/src"; cd "$home"
printf '[package]\nname = "look"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n' > Cargo.toml
for crate in eval parser; do echo "rsigma-$crate = { version = \"=0.23.0\", default-features = false }"; done >> Cargo.toml
echo 'serde_json = "1"' >> Cargo.toml
cat > src/main.rs <<'END'
use rsigma_eval::{CorrelationConfig, CorrelationEngine, JsonEvent};
use serde_json::json;

fn main() {
    let rule = |name: &str, test: &str| format!("title: {name}\nname: {name}\nid: {name}\nlogsource: {{category: test}}\ndetection: {{s: {{{test}}}, condition: s}}\n---\n");
    let count = "title: t\nid: t\ncorrelation: {type: value_count, rules: [a], timespan: 9s, condition: {field: user, gte: 1}}\n";
    let text = rule("a", "k: x") + &rule("there", "user|exists: true") + count;
    for (name, event) in [("null", json!({"k": "x", "user": null})), ("absent", json!({"k": "x"})), ("\"u\"", json!({"k": "x", "user": "u"}))] {
        let mut engine = CorrelationEngine::new(CorrelationConfig::default());
        engine.add_collection(&rsigma_parser::parse_sigma_yaml(&text).unwrap()).unwrap();
        let found = engine.process_event_at(&JsonEvent::borrow(&event), 1000);
        let has = |title: &str| found.iter().any(|one| one.header.rule_title == title);
        println!("{name} -> exists: {}, values: {}", has("there"), if has("t") { "at least one" } else { "none" });
    }
}
END
cargo run --quiet > seen 2> errors || { cat errors; exit 1; }
cat seen
sed -n 's/^#   //p' "$me" | diff seen -
