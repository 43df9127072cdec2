#!/usr/bin/env bash
# rsigma-eval 0.23.0 (Rust, MIT), an evaluator of Sigma rules: an outer correlation counts an event and the alert that
# an inner correlation raises at it. With `group-by: [user]` it counts 2. With an alias of `user` it does not: the alert
# has no value for the alias, so it is in another group. Of two alerts of the inner rule at one event it counts one.
# An alert has no value to count either: of alerts that are grouped by user, value_count of user never raises an alert.
# Seen:
#   by user -> inner outer
#   by an alias of user -> inner
#   at least one user of alerts -> inner
#   at least two alerts of one event -> inner inner
set -euo pipefail
me=$(realpath "$0"); home=$(mktemp -d); trap 'rm -rf "$home"' EXIT; mkdir "$home/src"; cd "$home"
printf '[package]\nname = "look"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n' > Cargo.toml
for crate in eval parser; do echo "rsigma-$crate = { version = \"=0.23.0\", default-features = false }"; done >> Cargo.toml
echo 'serde_json = "1"' >> Cargo.toml
cat > src/main.rs <<'END'
use rsigma_eval::{CorrelationConfig, CorrelationEngine, JsonEvent};

fn main() {
    let rule = |n: &str| format!("title: {n}\nname: {n}\nid: {n}\nlogsource: {{category: test}}\ndetection: {{s: {{k: x}}, condition: s}}\n---\n");
    let count = |n: &str, of: &str| format!("title: {n}\nname: {n}\nid: {n}\ncorrelation: {{type: event_count, {of}, timespan: 9s}}\n");
    let by = |of: &str| rule("a") + &count("inner", "rules: [a], group-by: [user], condition: {gte: 1}") + "---\n" + &count("outer", of);
    let two = rule("a") + &rule("b") + &count("inner", "rules: [a, b], condition: {gte: 1}") + "---\n";
    for (name, text) in [
        ("by user", by("rules: [a, inner], group-by: [user], condition: {gte: 2}")),
        ("by an alias of user", by("rules: [a, inner], group-by: [who], aliases: {who: {a: user, inner: user}}, condition: {gte: 2}")),
        ("at least one user of alerts", by("rules: [inner], condition: {gte: 1, field: user}").replace("event_count, rules: [inner]", "value_count, rules: [inner]")),
        ("at least two alerts of one event", two + &count("outer", "rules: [inner], condition: {gte: 2}")),
    ] {
        let mut engine = CorrelationEngine::new(CorrelationConfig::default());
        engine.add_collection(&rsigma_parser::parse_sigma_yaml(&text).unwrap()).unwrap();
        let event = serde_json::json!({"k": "x", "user": "u"});
        let found = engine.process_event_at(&JsonEvent::borrow(&event), 1000);
        let titles: Vec<_> = found.iter().filter(|one| one.is_correlation()).map(|one| one.header.rule_title.clone()).collect();
        println!("{name} -> {}", titles.join(" "));
    }
}
END
cargo run --quiet > seen 2> errors || { cat errors; exit 1; }
cat seen
sed -n 's/^#   //p' "$me" | diff seen -
