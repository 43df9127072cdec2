// The state of the page, what is asked of the worker when it changes, and the address that holds it.
import { Editor } from "./editor.js";
import { StreamTable } from "./stream.js";
import { brief, count, drawing, element, explanation, failure, judged, matches, note } from "./panes.js";

const VERSION = "1";
const SLOW = 400; // milliseconds after which Stop is shown
const PAUSE = 1000; // milliseconds without a key after which typing goes on as another step
const TEXTS = "input:not([readonly]), textarea";
const CLASSES = { equivalent: "yes", different: "no", undecided: "open" };
const $ = (id) => document.getElementById(id);

let languages = [];
const left = {}; // of each language that was left for another: its state when it was left
const brought = {}; // of each language: the stream that came along from another
const answers = {}; // by exercise
let state = { language: "", query: "", otherLanguage: "", other: "", stream: [["type"]], pane: "matches", events: null, at: null, exercise: null, answer: "" };

// --- the worker ------------------------------------------------------------------------------------------------------

let worker, started, waiting, number = 0;

function startWorker() {
  waiting = new Map();
  worker = new Worker("worker.js", { type: "module" });
  started = new Promise((resolve) => {
    worker.onmessage = ({ data: { id, answer } }) => {
      if (id === "ready") resolve(answer);
      else if (id === "failed") say(`Python did not start: ${answer.error.message}`);
      else {
        waiting.get(id)?.(answer);
        waiting.delete(id);
        if (!waiting.size) $("stop").hidden = true;
      }
    };
  });
}

async function ask(request) {
  await started;
  const id = ++number;
  setTimeout(() => { if (waiting.has(id)) $("stop").hidden = false; }, SLOW);
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker.postMessage({ id, request });
  });
}

// Where the answers are shown; they are dimmed while they are those to an earlier question.
const SHOWN = { evaluate: ["pane-matches", "timeline"], explain: ["pane-why"], compare: ["verdict"], draw: ["pane-automaton"], step: ["pane-steps"] };
function markStale(kind, isStale) {
  for (const id of SHOWN[kind] ?? []) $(id).classList.toggle("stale", isStale);
}

// Of the answers to one kind of question only the last is shown; while one is awaited, the next waits for it.
const asking = {};
async function askLast(kind, request, show) {
  markStale(kind, true);
  if (asking[kind]) {
    asking[kind].next = [request, show];
    return;
  }
  const turn = (asking[kind] = { next: null });
  const answer = await ask(request());
  if (asking[kind] !== turn) return;
  delete asking[kind];
  if (turn.next) askLast(kind, ...turn.next);
  else {
    markStale(kind, false);
    show(answer);
  }
}

// Fills an element; what had the focus in it is replaced by what has its place.
function put(element, ...children) {
  const focused = element.contains(document.activeElement);
  element.replaceChildren(...children);
  if (focused) (element.querySelector("button") ?? element).focus();
}

function say(text) {
  $("status").textContent = text;
}

$("stop").addEventListener("click", async () => {
  worker.terminate();
  Object.keys(asking).forEach((kind) => delete asking[kind]);
  $("stop").hidden = true;
  say("Stopped. Starting Python again…");
  startWorker();
  await started;
  say("Stopped. Change the query to go on.");
});

// --- the address -----------------------------------------------------------------------------------------------------

function address() {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#${VERSION}.${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// The state that an address holds. Throws an Error that says what is wrong with the address.
function stateOf(hash) {
  const [version, text] = hash.slice(1).split(".");
  if (version !== VERSION && /^\d+$/.test(version)) throw new Error("The link is of another version of the playground.");
  let found = null;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    found = JSON.parse(new TextDecoder().decode(bytes));
  } catch {} // the end of it is missing
  if (!isState(found)) throw new Error("The link is not whole: a part of it was cut off or changed. Copy it again.");
  return found;
}

// Whether it has what the page itself reads; the rest is checked where it is used.
function isState(found) {
  const isRow = (row) => Array.isArray(row) && row.length && row.every((cell) => typeof cell === "string");
  const isTable = (rows) => Array.isArray(rows) && rows.length && rows.every((row) => isRow(row) && row.length === rows[0].length);
  const isPositions = (events) => (events ?? null) === null || (Array.isArray(events) && events.every(Number.isInteger));
  const texts = [found?.query, found?.other ?? "", found?.answer ?? ""];
  return texts.every((text) => typeof text === "string") && isTable(found.stream) && isPositions(found.events)
    && languages.some(({ name }) => name === found.language);
}

let saving;
function save() {
  clearTimeout(saving);
  saving = setTimeout(saveNow, 300);
}

function saveNow() {
  clearTimeout(saving);
  saving = null;
  history.replaceState(history.state, "", address());
  keepSteps();
}

// Whoever leaves the page, or the box, for a link to it finds the last edit in the address.
window.addEventListener("blur", () => { if (saving) saveNow(); });

// --- undo ------------------------------------------------------------------------------------------------------------

// The contents before each step, and those that were taken back, as JSON; a step is a change by a button, or what is
// typed in one field without a pause.
const steps = { done: [], undone: [], contents: "", field: null, time: 0 };

// What Undo brings back, each with the pane that shows it, null where that is none: all but the pane, and what is chosen.
const PARTS = { language: null, query: null, stream: null, other: "compare", otherLanguage: "compare", exercise: "exercises", answer: "exercises" };
const KEPT = "steps"; // under which the tab keeps the steps while its page is loaded again
const MOST = 50; // steps that it keeps

function contents() {
  return JSON.stringify(state, Object.keys(PARTS));
}

// After a change of the state: makes a step of it, or a part of the last one; field: what is typed in, null for none.
function stepped(field = null) {
  const now = contents();
  if (now === steps.contents) return;
  const isSame = field !== null && field === steps.field && performance.now() - steps.time < PAUSE;
  if (!isSame && steps.contents) steps.done.push(steps.contents);
  Object.assign(steps, { undone: [], contents: now, field, time: performance.now() });
  showSteps();
}

// Goes a step back, or forward again, and shows what it changes.
function go(from, to) {
  const [was, next] = [JSON.parse(contents()), JSON.parse(from.pop())];
  const isChanged = (part) => JSON.stringify(was[part]) !== JSON.stringify(next[part]);
  const panes = Object.keys(PARTS).filter(isChanged).map((part) => PARTS[part]);
  to.push(contents());
  left[state.language] = { ...state };
  Object.assign(state, next, { events: null, at: null, pane: panes.includes(null) ? state.pane : panes[0] ?? state.pane });
  Object.assign(steps, { contents: contents(), field: null });
  save();
  fill();
}

// Keeps the steps for when the page is loaded again, and takes them up if it has the same contents then.
function keepSteps() {
  const kept = { done: steps.done.slice(-MOST), undone: steps.undone.slice(-MOST), contents: contents() };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(kept));
  } catch {} // there is no storage, or no room in it
}

function takeUpSteps() {
  let kept = null;
  try {
    kept = JSON.parse(sessionStorage.getItem(KEPT));
  } catch {} // there is no storage
  if (kept?.contents === contents()) Object.assign(steps, kept);
}

function showSteps() {
  $("undo").disabled = !steps.done.length;
  $("redo").disabled = !steps.undone.length;
}

$("undo").addEventListener("click", () => go(steps.done, steps.undone));
$("redo").addEventListener("click", () => go(steps.undone, steps.done));

// Changes the state by a button: a step, and an entry of its own in the history of the browser.
function replace(change) {
  saveNow();
  change();
  if (address() === location.hash) return;
  history.pushState(null, "", address());
  stepped();
}

$("share").addEventListener("click", async () => {
  saveNow();
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say("The link is in the address bar.");
  }
});

// --- the query and the stream ----------------------------------------------------------------------------------------

const query = new Editor($("query"), (text) => changed({ query: text }, "query"));
const other = new Editor($("other"), (text) => changed({ other: text }, "other"));
const answer = new Editor($("answer"), (text) => {
  state.answer = text;
  stepped("answer");
  save();
});
const edited = (field) => changed({ stream: stream.rows.map((row) => [...row]) }, field);
const stream = new StreamTable($("stream"), { changed: edited, removed: take, chosen: choose });

const language = () => languages.find(({ name }) => name === state.language);
const base = () => ({ language: state.language, query: state.query, stream: state.stream });

// field: what was typed in, null for none.
function changed(part, field = null) {
  Object.assign(state, part);
  stepped(field);
  save();
  if (part.stream) showVariants();
  evaluate();
  refresh();
}

function evaluate(said) {
  askLast("evaluate", () => ({ do: "evaluate", ...base() }), (found) => {
    showMatches(found);
    say(said ?? (found.error ? "There is no answer, see below." : count(found)));
  });
}

function showMatches(found) {
  const error = found.error;
  const inStream = error?.code === "input";
  if (!state.query.trim() && !inStream) {
    query.mark(null);
    $("query-message").textContent = $("stream-message").textContent = "";
    stream.mark(null);
    $("timeline").classList.add("stale");
    $("pane-matches").replaceChildren(note("Write a query; Example has one."));
    return;
  }
  query.mark(error ? (inStream ? null : error.span ?? [0, state.query.length]) : null);
  const warnings = (found.warnings ?? []).map((warning) => warning.message);
  $("query-message").textContent = error && !inStream ? error.message : warnings.join("\n");
  $("query-message").classList.toggle("warning", !error);
  $("stream-message").textContent = inStream ? error.message : "";
  stream.mark(error?.cell);
  if (error) {
    $("timeline").classList.add("stale");
    const inQuery = error.code === "budget" ? "There is no answer: the reason is below the query." : "The query has an error: it is named below it.";
    $("pane-matches").replaceChildren(note(inStream ? "The stream has an error: it is named below the table." : inQuery));
    return;
  }
  $("timeline").innerHTML = found.svg;
  $("pane-matches").replaceChildren(...matches(found, state.stream.length - 1, state.events, (match) => {
    choose(match.events, match.at);
    $("pane-why").focus();
  }));
}

// Queries with what they mean are shown where the stream has events of all types that they are about.
function showVariants() {
  const { stream: rows, variants } = language().example;
  const types = (table) => new Set(table.slice(1).map(([type]) => type));
  $("variants").hidden = !variants.length || [...types(rows)].some((type) => !types(state.stream).has(type));
}

function listVariants() {
  showVariants();
  $("variants").querySelector("ul").replaceChildren(...language().example.variants.map(([text, meaning]) => {
    const made = element("button", { type: "button" }, element("code", {}, text));
    made.addEventListener("click", () => take(state.stream, text));
    return element("li", {}, made, element("span", {}, meaning));
  }));
}

// Asks why these events are a match, or why they are none.
function choose(events, at = Math.max(...events)) {
  Object.assign(state, events.length ? { events, at } : { events: null, at: null });
  stream.select(events);
  if (events.length) show("why");
  else refresh();
  save();
}

// --- the panes -------------------------------------------------------------------------------------------------------

const RUNS = ["automaton", "steps"]; // panes of languages that have automata
const tabs = [...$("tabs").children];
const REFRESH = {
  matches() {
    $("pane-matches").querySelectorAll(".found button").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.value === String(state.events)));
    });
  },
  why() {
    if (!state.events) {
      $("pane-why").replaceChildren(note("Choose a match, or events by their numbers in the stream: here it says why they are a match, or why not."));
      return;
    }
    askLast("explain", () => ({ do: "explain", ...base(), events: state.events, at: state.at }), (found) => {
      $("pane-why").replaceChildren(...(found.error ? [failure(found.error)] : explanation(found)));
      if (!found.error) say(found.sentence);
    });
  },
  compare() {
    const request = () => ({ do: "compare", ...base(), other: state.other, otherLanguage: state.otherLanguage });
    askLast("compare", request, (found) => {
      const error = found.error;
      const inOther = error && error.text === state.other && state.other !== state.query;
      other.mark(inOther ? error.span : null);
      if (!state.other.trim()) put($("verdict"), note("Write a second query: is it the same as the first on every stream?"));
      else if (error) put($("verdict"), note(`In the ${inOther ? "second" : "first"} query:`), failure(error));
      else put($("verdict"), ...judged(CLASSES[found.verdict], [...found.lines, ...found.warnings], found.rows, take));
    });
  },
  automaton() {
    askLast("draw", () => ({ do: "draw", ...base() }), (found) => {
      $("pane-automaton").replaceChildren(found.error ? failure(found.error) : drawing(found.svg, "Automaton"));
    });
  },
  steps() {
    askLast("step", () => ({ do: "step", ...base() }), (found) => {
      const frame = element("iframe", { title: "The run, step by step", srcdoc: found.html ?? "" });
      frame.setAttribute("sandbox", "allow-scripts");
      $("pane-steps").replaceChildren(found.error ? failure(found.error) : frame);
    });
  },
  exercises() {
    const asked = state.language;
    askLast("tasks", () => ({ do: "tasks", language: state.language }), ({ exercises }) => {
      if ($("exercise").dataset.language !== asked) {
        $("exercise").dataset.language = asked;
        $("exercise").replaceChildren(...exercises.map((one) => element("option", { value: one.id }, `${brief(one.statement[0])} (${one.level})`)));
      }
      const task = exercises.find(({ id }) => id === state.exercise) ?? exercises[0];
      $("exercise").value = task?.id ?? "";
      state.exercise = task?.id ?? null;
      const lines = task?.statement ?? ["There are no exercises in this language."];
      $("statement").replaceChildren(...lines.map((line) => element("p", {}, line)));
    });
  },
};

function refresh() {
  REFRESH[state.pane]();
}

function show(pane) {
  state.pane = pane in REFRESH ? pane : "matches";
  for (const tab of tabs) {
    const selected = tab.id === `tab-${state.pane}`;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !selected;
  }
  save();
  refresh();
}

// Takes these rows for the stream, and in an exercise the answer for the query; Undo brings back what they replace.
function take(rows, query = state.query) {
  replace(() => Object.assign(state, { query, stream: rows, events: null, at: null }));
  fill();
}

tabs.forEach((tab) => {
  tab.addEventListener("click", () => show(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const enabled = tabs.filter((one) => !one.disabled);
    const at = enabled.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = enabled.at(to % enabled.length);
    show(next.id.slice(4));
    next.focus();
  });
});

$("add-event").addEventListener("click", () => stream.addEvent());
$("add-attribute").addEventListener("click", () => stream.addAttribute());
$("example").addEventListener("click", () => {
  replace(() => Object.assign(state, example(state.language)));
  fill();
});
$("language").addEventListener("change", ({ target }) => {
  left[state.language] = { ...state };
  replace(() => Object.assign(state, entered(target.value), { pane: state.pane }));
  fill();
});
$("to-answers").addEventListener("click", () => {
  $(`tab-${state.pane}`).scrollIntoView();
  $(`tab-${state.pane}`).focus();
});
$("other-language").addEventListener("change", ({ target }) => changed({ otherLanguage: target.value }));
$("exercise").addEventListener("change", ({ target }) => {
  answers[state.exercise] = state.answer;
  Object.assign(state, { exercise: target.value, answer: answers[target.value] ?? "" });
  stepped();
  answer.value = state.answer;
  $("feedback").replaceChildren();
  show("exercises");
});
$("grade").addEventListener("click", () => {
  askLast("grade", () => ({ do: "grade", id: state.exercise, query: state.answer }), (found) => {
    answer.mark(found.error?.span ?? null);
    const taken = (rows) => take(rows, state.answer);
    const grade = found.right ? (found.proved ? "yes" : "open") : found.graded ? "no" : "open";
    const shown = found.error
      ? [failure(found.error)]
      : judged(grade, found.lines, found.rows, taken, found.difference);
    $("feedback").replaceChildren(...shown);
  });
});

// Rows, a JSON array or JSON lines that are pasted into the table, or onto the page, become the stream.
document.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text").trim();
  const isElsewhere = event.target.matches?.(TEXTS) && !$("stream").contains(event.target);
  if (isElsewhere || !/[\n\t]|^[[{]/.test(text)) return;
  event.preventDefault();
  askLast("read", () => ({ do: "read", language: state.language, text }), (found) => {
    if (found.error) {
      $("stream-message").textContent = found.error.message;
      say(`No stream: ${found.error.message}`);
      return;
    }
    replace(() => Object.assign(state, { stream: found.rows, events: null, at: null }));
    fill(found.message);
  });
});

// The state of a language that is chosen: as it was left, or its example, over one's own stream if there is one.
function entered(name) {
  const [was, fresh, mine] = [left[name], example(name), state.stream];
  const isOneOf = (rows, ...others) => others.some((other) => JSON.stringify(other) === JSON.stringify(rows));
  const isUntouched = !was || (was.query === fresh.query && isOneOf(was.stream, fresh.stream, brought[name]));
  if (!isUntouched) return was;
  if (isOneOf(mine, example(state.language).stream)) return was ?? fresh;
  brought[name] = mine;
  return { ...(was ?? fresh), stream: mine, events: null, at: null };
}

// The state with the example of a language.
function example(name) {
  const { query, other = query, stream } = languages.find((one) => one.name === name).example;
  return { language: name, query, other, otherLanguage: name, stream, events: null, at: null, exercise: null, answer: "" };
}

// Shows the state, all of it, and says this, or how many matches there are.
function fill(said) {
  const { comparable, runs } = language();
  $("language").value = state.language;
  for (const option of $("other-language").options) option.disabled = !comparable.includes(option.value);
  $("other-language").value = state.otherLanguage;
  for (const pane of RUNS) $(`tab-${pane}`).disabled = !runs;
  if (!runs && RUNS.includes(state.pane)) state.pane = "matches";
  query.value = state.query;
  other.value = state.other;
  if (answer.value !== state.answer) {
    answer.value = state.answer;
    $("feedback").replaceChildren();
  }
  $("pane-matches").replaceChildren();
  stream.show(state.stream);
  if (state.events) stream.select(state.events);
  listVariants();
  show(state.pane);
  evaluate(said);
  showSteps();
}

// Shows the state of an address that was opened; an answer in it is graded.
function fillOpened(said) {
  fill(said);
  if (state.pane === "exercises" && state.exercise && state.answer) $("grade").click();
}

// Takes the state of the address. Throws an Error that says what is wrong with it.
function open() {
  const found = stateOf(location.hash);
  left[state.language] = { ...state };
  state = { ...example(found.language), pane: "matches", ...found };
}

window.addEventListener("hashchange", () => {
  try {
    open();
    stepped();
    fillOpened();
  } catch (error) {
    say(error.message);
  }
});

async function main() {
  const isBox = location.search === "?box";
  document.body.classList.toggle("box", isBox);
  $("variants").open = isBox && innerWidth > 480; // on a phone the stream would be out of sight
  const begin = performance.now();
  startWorker();
  const sections = document.querySelectorAll("main > section");
  for (const section of sections) section.inert = true; // there is nothing yet that answers
  ({ languages } = await started);
  for (const section of sections) section.inert = false;
  for (const id of ["language", "other-language"]) {
    $(id).replaceChildren(...languages.map(({ name, title }) => element("option", { value: name }, title)));
  }
  let ready = `Ready after ${((performance.now() - begin) / 1000).toFixed(1)} s. Nothing leaves this page.`;
  Object.assign(state, example(languages[0].name));
  try {
    if (location.hash) open();
  } catch (error) {
    ready = `${error.message} Here is an example.`;
  }
  takeUpSteps();
  stepped();
  fillOpened(ready);
  document.body.dataset.ready = ""; // a page that has this one in a box shows it now
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("offline.js").catch(() => {});
}

main();
