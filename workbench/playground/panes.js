// What the panes show of the answers: elements made of JSON. Only drawings, which cerify escapes, are set as HTML.
export function element(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

export function drawing(svg, label) {
  const holder = element("div", { className: "scroll", tabIndex: 0, innerHTML: svg });
  holder.setAttribute("role", "region");
  holder.setAttribute("aria-label", label);
  return holder;
}

export function note(text) {
  return element("p", { className: "soft" }, text);
}

// The beginning of a sentence, for a list.
export function brief(text) {
  return text.length <= 60 ? text : `${text.slice(0, 60).replace(/\s+\S*$/, "")}…`;
}

// An error; what a language or a page does not have is none of the query.
export function failure(error) {
  return element("p", { className: error.code === "unsupported" ? "open" : "no" }, error.message);
}

// How many matches there are, in words.
export function count(found) {
  return `${found.matches.length}${found.more ? " or more" : ""} match${found.matches.length === 1 ? "" : "es"}`;
}

// The matches as buttons; choosing one asks why it matches.
export function matches(found, events, chosen, onChoose) {
  if (!events) return [note("The stream has no events: add one.")];
  const buttons = found.matches.map((match) => {
    const made = element("button", { type: "button", value: String(match.events) }, matchText(match));
    made.setAttribute("aria-pressed", String(made.value === String(chosen)));
    made.addEventListener("click", () => onChoose(match));
    return element("li", {}, made);
  });
  const hint = buttons.length
    ? "Choose a match to see why it is one, or choose events in the stream to see why they are none."
    : "Choose events in the stream to see why they are no match.";
  return [element("p", {}, count(found)), element("ul", { className: "found" }, ...buttons), note(hint)];
}

function matchText(match) {
  const bound = Object.entries(match.bindings ?? {}).map(([name, places]) => `${name} = ${places.join(" ")}`);
  const made = Object.entries(match.result ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const more = [...bound, ...made].join("   ");
  return `{${match.events.join(", ")}} at ${match.at}${more ? `   ${more}` : ""}`;
}

export function explanation(view) {
  const parts = view.parts.flatMap((part, n) => [
    part.heading ? element("h2", {}, part.heading) : "",
    part.svg ? drawing(part.svg, part.heading || "Drawing") : "",
    part.trees.length ? element("ul", { className: "tree" }, ...part.trees.map(step)) : "",
    ...part.run.map((one) => element("p", {}, element("b", {}, `${one.move}  `), one.text, facts(one.facts))),
    ...shownLines(part, n),
  ]);
  return [
    element("p", { className: view.matched ? "yes" : "no" }, view.sentence),
    view.svg ? drawing(view.svg, "The stream") : "",
    ...parts,
    view.legend ? note(view.legend) : "",
  ];
}

// The lines of a part; without a heading they are sentences, no items of a list before them.
function shownLines({ heading, lines }, n) {
  if (!heading && n) return lines.map((line) => element("p", {}, line));
  return lines.length ? [element("div", { className: "lines" }, lines.join("\n"))] : [];
}

function step(one) {
  const below = one.children.length ? element("ul", {}, ...one.children.map(step)) : "";
  const heading = element("div", {}, element("code", {}, one.text), ` ${one.where} `, element("span", { className: "yes" }, one.bound));
  const clause = one.clause ? element("p", { className: "soft" }, one.clause) : "";
  return element("li", {}, heading, clause, facts(one.facts), below);
}

function facts(lines) {
  return lines.length ? element("p", {}, lines.join("; ")) : "";
}

// A verdict or a grade: lines of text, the first in a colour, and a button that takes the stream that shows it.
// What spoils an exercise, the difference on that stream, is folded away.
export function judged(className, lines, rows, onTake, difference = []) {
  const [heading, ...rest] = lines;
  const take = element("button", { type: "button" }, "Show on this stream");
  take.addEventListener("click", () => onTake(rows));
  const shown = (text) => element("div", { className: "lines" }, text.join("\n"));
  const folded = element("details", {}, element("summary", {}, "Show the stream"), shown(difference), take);
  return [
    element("p", { className }, heading),
    shown(rest),
    rows && difference.length ? folded : rows ? take : "",
  ];
}
