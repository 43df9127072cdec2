#!/usr/bin/env bash
# rsigma-eval 0.23.0 (Rust, MIT), an evaluator of Sigma rules, on rules that it takes without a word:
# - `temporal` without a condition raises an alert as soon as one of its rules occurs; the specification asks for all.
# - `value_percentile` raises an alert at each event that has a number, whatever its condition says.
# - A correlation that refers to a rule by its name never fires, unless the rule has an id too.
# - An event that two rules of an event_count find counts twice.
# - Events without a value of the group-by field are a group.
# - The sum and the average of no numbers are 0, so that an event without the number raises an alert of `lte: 1`.
# Seen:
#   temporal: one of two rules -> [0]
#   percentile 50 over 100, of 1 -> [0]
#   by name, rule with an id -> [1]
#   by name, rule without an id -> []
#   at least 2, one event of two rules -> [0]
#   at least 2, no group -> [1]
#   sum and average at most 1, of no number -> [0] [0]
set -euo pipefail
home=$(mktemp -d); trap 'rm -rf "$home"' EXIT; mkdir "$home/src"; cd "$home"
cat > Cargo.toml <<'END'
[package]
name = "look"
version = "0.1.0"
edition = "2021"
[dependencies]
rsigma-eval = { version = "=0.23.0", default-features = false }
rsigma-parser = { version = "=0.23.0", default-features = false }
serde_json = "1"
END
cat > src/main.rs <<'END'
use rsigma_eval::{CorrelationConfig, CorrelationEngine, JsonEvent};
use serde_json::{json, Value};

fn rule(name: &str, id: &str, kind: &str) -> String {
    format!("title: {name}\nname: {name}\n{id}logsource: {{category: test}}\ndetection: {{s: {{kind: {kind}}}, condition: s}}\n---\n")
}

fn alerts(text: &str, log: &[Value]) -> Vec<usize> {
    let mut engine = CorrelationEngine::new(CorrelationConfig::default());
    engine.add_collection(&rsigma_parser::parse_sigma_yaml(text).unwrap()).unwrap();
    let mut found = Vec::new();
    for (place, event) in log.iter().enumerate() {
        for one in engine.process_event_at(&JsonEvent::borrow(event), 1000 + place as i64) {
            if one.is_correlation() {
                found.push(place);
            }
        }
    }
    found
}

fn main() {
    let (a, b) = (rule("a", "id: a\n", "a"), rule("b", "id: b\n", "b"));
    let log = [json!({"kind": "a", "size": 1}), json!({"kind": "a", "size": 1})];
    let of = |more: &str| format!("{a}{b}title: t\nid: t\ncorrelation: {{{more}, timespan: 9s}}\n");
    let places = |text: &str, n: usize| alerts(text, &log[..n]);
    println!("temporal: one of two rules -> {:?}", places(&of("type: temporal, rules: [a, b]"), 1));
    let percentile = "type: value_percentile, rules: [a], condition: {field: size, percentile: 50, gte: 100}";
    println!("percentile 50 over 100, of 1 -> {:?}", places(&of(percentile), 1));
    let count = "title: t\nid: t\ncorrelation: {type: event_count, rules: [n], timespan: 9s, condition: {gte: 2}}\n";
    println!("by name, rule with an id -> {:?}", places(&(rule("n", "id: i\n", "a") + count), 2));
    println!("by name, rule without an id -> {:?}", places(&(rule("n", "", "a") + count), 2));
    let twice = format!("{a}{}", of("type: event_count, rules: [a, c], condition: {gte: 2}")).replace("name: b\nid: b", "name: c\nid: c");
    let twice = twice.replacen(&a, "", 1).replace("kind: b", "kind: a");
    println!("at least 2, one event of two rules -> {:?}", places(&twice, 1));
    println!("at least 2, no group -> {:?}", places(&of("type: event_count, rules: [a], group-by: [user], condition: {gte: 2}"), 2));
    let empty = |kind: &str| alerts(&of(&format!("type: {kind}, rules: [a], condition: {{field: size, lte: 1}}")), &[json!({"kind": "a"})]);
    println!("sum and average at most 1, of no number -> {:?} {:?}", empty("value_sum"), empty("value_avg"));
}
END
cargo run --quiet > seen 2> errors || { cat errors; exit 1; }
cat seen
diff seen - <<'END'
temporal: one of two rules -> [0]
percentile 50 over 100, of 1 -> [0]
by name, rule with an id -> [1]
by name, rule without an id -> []
at least 2, one event of two rules -> [0]
at least 2, no group -> [1]
sum and average at most 1, of no number -> [0] [0]
END
