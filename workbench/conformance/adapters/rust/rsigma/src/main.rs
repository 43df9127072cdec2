//! Evaluates Sigma rules by rsigma-eval: each line of standard input has rules and events, and its answer is a line.
//!
//! A line: {"rules": YAML, "events": [[seconds, {field: value}]]}. The answer: [[place, title of a correlation], ...] in
//! the order of events, or {"refused": why}.

use std::io::{self, BufRead, Write};

use rsigma_eval::{CorrelationConfig, CorrelationEngine, JsonEvent};
use rsigma_parser::parse_sigma_yaml;
use serde_json::{json, Value as Json};

fn answer(of: &Json) -> Result<Json, String> {
    let rules = parse_sigma_yaml(of["rules"].as_str().unwrap_or_default()).map_err(|e| e.to_string())?;
    if let Some(error) = rules.errors.first() {
        return Err(format!("{error:?}"));
    }
    let mut engine = CorrelationEngine::new(CorrelationConfig::default());
    engine.add_collection(&rules).map_err(|e| e.to_string())?;
    let mut found = Vec::new();
    for (place, one) in of["events"].as_array().into_iter().flatten().enumerate() {
        let event = JsonEvent::borrow(&one[1]);
        for result in engine.process_event_at(&event, one[0].as_i64().unwrap_or_default()) {
            if result.is_correlation() {
                found.push(json!([place, result.header.rule_title]));
            }
        }
    }
    Ok(Json::Array(found))
}

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let question: Json = serde_json::from_str(&line?)?;
        println!("{}", answer(&question).unwrap_or_else(|why| json!({"refused": why})));
        io::stdout().flush()?;
    }
    Ok(())
}
