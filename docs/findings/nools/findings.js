// Prints what nools 0.4.4 answers to some rules, without cerify: npm install nools@0.4.4, then node findings.js.
const nools = require("nools");

class Event { constructor(at, kind, x) { Object.assign(this, { at, kind }, x === undefined ? {} : { x }); } }

async function show(patterns, ...events) {
  const found = [];
  const flow = nools.flow(patterns.join(), (flow) => {
    flow.rule("rule", patterns.map((text, k) => [Event, `e${k}`, text]), (facts) => found.push(patterns.map((_, k) => facts[`e${k}`].at)));
  });
  const session = flow.getSession();
  events.forEach(([kind, x], at) => session.assert(new Event(at, kind, x)));
  await session.match();
  console.log(patterns.join("; "), "on", JSON.stringify(events), "has", JSON.stringify(found));
}

(async () => {
  await show(["e0.kind === 'A'", "e1.kind === 'B' && e1.at > e0.at"], ["A"], ["B"], ["A"], ["B"]);
  await show(["e0.kind === 'A' && e0.x !== 0"], ["A"], ["A", 0], ["A", 1]);
  await show(["e0.kind === 'A' && e0.x < 1"], ["A"], ["A", 0], ["A", 1]);
  await show(["e0.kind === 'A'", "e1.kind === 'B' && e1.x === e0.x"], ["A"], ["B"]);
  await show(["e0.kind === 'A'", "e1.kind === 'B' && e1.x > e0.x"], ["A", 9007199254740992], ["B", 9007199254740993]);
})();
