// Puts nools under test: CEL's chains as rules over events, [Event, "b", "b.kind == 'B' && b.p > a.p"].
const nools = require("nools");
const readline = require("readline");

class Skip extends Error {}
class Event { constructor(at, kind, values) { Object.assign(this, values, { at, kind }); } }

// The alternatives of a query, each a list of steps {kind, labels, tests, near}, tests across and a window.
function chains(t) {
  const both = () => chains(t.left).flatMap((a) => chains(t.right).map((b) => join(a, b)));
  const join = (a, b) => {
    if (a.window || b.window || a.key || b.key) throw new Skip("windows are around the whole query");
    const steps = [...a.steps, ...b.steps.map((s, n) => (n ? s : { ...s, near: t.node === "ContiguousSeq" }))];
    if (t.node === "ContiguousSeq" && !(a.steps.at(-1).labels.size && b.steps[0].labels.size)) throw new Skip("hidden neighbours");
    return { steps, across: [...a.across, ...b.across] };
  };
  const each = (of, change) => chains(of).map((c) => ({ ...c, steps: c.steps.map((s) => change(s)) }));
  switch (t.node) {
    case "Event": return [{ steps: [{ kind: t.type, labels: new Set([t.type]), tests: [], near: false }], across: [] }];
    case "Seq": case "ContiguousSeq": return both();
    case "Or": return [...chains(t.left), ...chains(t.right)];
    case "In": return each(t.phi, (s) => ({ ...s, labels: s.labels.size ? new Set([...s.labels, t.variable]) : s.labels }));
    case "Project": return each(t.phi, (s) => ({ ...s, labels: new Set([...s.labels].filter((l) => t.variables.includes(l))) }));
    case "Filter": return chains(t.phi).map((c) => filtered(c, t.condition));
    case "Within": return chains(t.phi).map((c) => {
      if (c.window || t.window.node === "AttributeWindow" || !c.steps.every((s) => s.labels.size)) throw new Skip("one window of events or time");
      return { ...c, window: t.window };
    });
    case "PartitionBy": return chains(t.phi).map((c) => {
      if (c.key || !c.steps.every((s) => s.labels.size)) throw new Skip("one key");
      return { ...c, key: t.attribute };
    });
    default: throw new Skip(`no ${t.node}`);
  }
}

function filtered(c, condition) {
  if (condition.node === "Conjunction") return filtered(filtered(c, condition.left), condition.right);
  if (condition.node === "Every") {
    return { ...c, steps: c.steps.map((s) => s.labels.has(condition.variable) ? { ...s, tests: [...s.tests, condition.predicate] } : s) };
  }
  if (condition.node === "Correlated") return { ...c, across: [...c.across, condition.predicate] };
  throw new Skip(`no condition ${condition.node}`);
}

function name(text) {
  if (!/^[A-Za-z_]\w*$/.test(text) || ["at", "kind", "time"].includes(text)) throw new Skip(`no property ${text}`);
  return text;
}

function constant(value) {
  if (typeof value === "string" && /^[ !#-&(-\[\]-~]*$/.test(value)) return `'${value}'`;
  if (typeof value === "number" && value >= 0 && !/e/.test(String(value)) && Number.isSafeInteger(Math.trunc(value))) return String(value);
  if (typeof value === "boolean") return String(value);
  throw new Skip("constants are texts of ASCII, truth values and numbers without signs");
}

function test(t, of) {
  const term = (e) => {
    if (e.node === "Constant") return constant(e.value);
    if (e.node === "Attribute") return `${of(e)}.${name(e.name)}`;
    throw new Skip(`no term ${e.node}`);
  };
  switch (t.node) {
    case "Anything": return "true";
    case "Comparison": return `${term(t.left)} ${{ "=": "===", "!=": "!==" }[t.comparator] || t.comparator} ${term(t.right)}`;
    case "Both": return `(${test(t.left, of)} && ${test(t.right, of)})`;
    case "Either": return `(${test(t.left, of)} || ${test(t.right, of)})`;
    case "InRange": return `(${term(t.term)} >= ${constant(t.low)} && ${term(t.term)} <= ${constant(t.high)})`;
    case "OneOf": return `${term(t.term)} in [${t.values.map(constant).join(", ")}]`;
    default: throw new Skip(`no condition ${t.node}`);
  }
}

const UNITS = { second: 1, minute: 60, hour: 3600, day: 86400 };
let flows = 0;

async function run(message) {
  const found = new Map();
  const written = [];
  for (const c of chains(message.tree)) {
    if (!c.steps.some((s) => s.labels.size)) throw new Skip("a match reports an event");
    const patterns = c.steps.map((s, k) => {
      const parts = [`e${k}.kind === ${constant(s.kind)}`];
      if (k) parts.push(s.near ? `e${k}.at === e${k - 1}.at + 1` : `e${k}.at > e${k - 1}.at`);
      for (const t of s.tests) parts.push(test(t, () => `e${k}`));
      if (c.key && k) parts.push(`e${k}.${name(c.key)} === e${k - 1}.${name(c.key)}`);
      return parts;
    });
    for (const t of c.across) {
      const places = [];
      const of = (e) => {
        const at = c.steps.flatMap((s, k) => (s.labels.has(e.variable) ? [k] : []));
        if (at.length !== 1) throw new Skip("a variable is of one event");
        places.push(at[0]);
        return `e${at[0]}`;
      };
      const text = test(t, of);
      patterns[Math.max(...places)].push(text);
    }
    if (c.window) {
      const time = c.window.node === "TimeWindow";
      const width = time ? c.window.amount * UNITS[c.window.unit] : c.window.count - 1;
      const slot = time ? "second" : "at";
      const last = patterns.length - 1;
      if (last) patterns[last].push(`e${last}.${slot} - e0.${slot} <= ${constant(width)}`);
    }
    written.push(patterns.map((p) => p.join(" && ")).join("\n"));
    const flow = nools.flow(`f${flows++}`, (flow) => {
      flow.rule("chain", patterns.map((p, k) => [Event, `e${k}`, p.join(" && ")]), (facts) => {
        const taken = c.steps.map((s, k) => [s, facts[`e${k}`].at]);
        const at = Math.max(...taken.map(([, p]) => p));
        const events = [...new Set(taken.filter(([s]) => s.labels.size).map(([, p]) => p))].sort((a, b) => a - b);
        const match = { at, events };
        if (message.output === "valuations") {
          match.bindings = {};
          for (const [s, p] of taken) for (const l of s.labels) (match.bindings[l] ||= []).push(p);
          for (const of of Object.values(match.bindings)) of.sort((a, b) => a - b);
        }
        found.set(JSON.stringify(match), match);
      });
    });
    const session = flow.getSession();
    for (const [at, event] of message.events.entries()) {
      const { type, time, ...values } = event;
      if (c.window?.node === "TimeWindow") {
        const second = typeof time === "number" ? time : Date.parse(time) / 1000;
        if (!Number.isFinite(second)) throw new Skip("an event has no time");
        values.second = second;
      }
      session.assert(new Event(at, type ?? "row", values));
      await session.match();
    }
    session.dispose();
    nools.deleteFlow(`f${flows - 1}`);
  }
  return { matches: [...found.values()], translation: written.join("\n\n") };
}

const CLAIMS = { operators: ["seq", "cseq", "or", "in", "project", "filter", "within", "partition"], ordered_time: true, predicates: ["comparison", "in", "range", "and", "or", "correlated"] };

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    let answer;
    if (message.cmd === "stop") break;
    if (message.cmd === "start") {
      answer = { protocol: 1, engine: { name: "nools", version: require("nools/package.json").version }, languages: ["cel"], claims: { cel: CLAIMS } };
    } else {
      try {
        if ((message.consumption || "none") !== "none" || (message.selection || "all") !== "all") throw new Skip("no selection");
        if (!message.tree) throw new Skip("the query does not parse");
        answer = await run(message);
      } catch (error) {
        answer = error instanceof Skip ? { skipped: error.message } : { error: { code: "internal", message: String(error.message || error) } };
      }
      answer.id = message.id;
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  process.exit(0);
})();
