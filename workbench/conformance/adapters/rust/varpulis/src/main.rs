//! Runs patterns of Varpulis: each line of standard input is a pattern with events, and its answer is a line.
//!
//! A line: {"steps": [{"type", "alias", "plus", "conditions": [[field, op, value]], "references": [[field, op, alias, field]]}],
//! "strategy": "any" | "next" | "strict", "partition": field or null, "within": seconds or null, "events": [[type, seconds,
//! {field: value}]]}. The answer: [[place after which the match is reported, [[alias, place], ...]], ...].

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeZone, Utc};
use serde_json::{json, Value as Json};
use varpulis_core::{Event, Value};
use varpulis_sase::{CompareOp, PatternBuilder, Predicate, SaseEngine, SasePattern, SelectionStrategy};

const PLACE: &str = "cerify_place";

fn value(of: &Json) -> Value {
    match of {
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) if n.is_i64() => Value::Int(n.as_i64().unwrap()),
        Json::Number(n) => Value::Float(n.as_f64().unwrap()),
        Json::String(s) => Value::Str(s.as_str().into()),
        _ => Value::Null,
    }
}

fn text(of: &Json) -> String {
    of.as_str().unwrap_or_default().to_string()
}

fn operator(of: &Json) -> CompareOp {
    match of.as_str().unwrap() {
        "=" => CompareOp::Eq,
        "!=" => CompareOp::NotEq,
        "<" => CompareOp::Lt,
        "<=" => CompareOp::Le,
        ">" => CompareOp::Gt,
        _ => CompareOp::Ge,
    }
}

fn list(of: &Json) -> &[Json] {
    of.as_array().map_or(&[], Vec::as_slice)
}

fn step(of: &Json) -> SasePattern {
    let conditions = list(&of["conditions"])
        .iter()
        .map(|one| Predicate::Compare { field: text(&one[0]), op: operator(&one[1]), value: value(&one[2]) });
    let references = list(&of["references"]).iter().map(|one| Predicate::CompareRef {
        field: text(&one[0]),
        op: operator(&one[1]),
        ref_alias: text(&one[2]),
        ref_field: text(&one[3]),
    });
    let predicate = conditions.chain(references).reduce(|a, b| Predicate::And(Box::new(a), Box::new(b)));
    let event = SasePattern::Event { event_type: text(&of["type"]), predicate, alias: Some(text(&of["alias"])) };
    if of["plus"].as_bool() == Some(true) {
        PatternBuilder::one_or_more(event)
    } else {
        event
    }
}

fn answer(of: &Json) -> Json {
    let mut pattern = PatternBuilder::seq(list(&of["steps"]).iter().map(step).collect());
    if let Some(seconds) = of["within"].as_u64() {
        pattern = PatternBuilder::within(pattern, Duration::from_secs(seconds));
    }
    let mut engine = SaseEngine::new(pattern).with_event_time().with_strategy(match of["strategy"].as_str() {
        Some("strict") => SelectionStrategy::StrictContiguous,
        Some("next") => SelectionStrategy::SkipTillNextMatch,
        _ => SelectionStrategy::SkipTillAnyMatch,
    });
    if let Some(field) = of["partition"].as_str() {
        engine = engine.with_partition_by(field.to_string());
    }
    let mut found = Vec::new();
    for (place, one) in list(&of["events"]).iter().enumerate() {
        let time = Utc.timestamp_opt(one[1].as_i64().unwrap(), 0).unwrap();
        let mut event = Event::new_at(text(&one[0]), time);
        for (name, cell) in one[2].as_object().unwrap() {
            event.data.insert(Arc::from(name.as_str()), value(cell));
        }
        event.data.insert(Arc::from(PLACE), Value::Int(place as i64));
        for result in engine.process(&event) {
            let taken: Vec<Json> = result
                .stack
                .iter()
                .map(|entry| match entry.event.data.get(PLACE) {
                    Some(Value::Int(at)) => json!([entry.alias, at]),
                    _ => Json::Null,
                })
                .collect();
            found.push(json!([place, taken]));
        }
    }
    Json::Array(found)
}

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let question: Json = serde_json::from_str(&line?)?;
        println!("{}", answer(&question));
        io::stdout().flush()?;
    }
    Ok(())
}
