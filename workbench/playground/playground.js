// The state of the page, what is asked of the worker when it changes, and the address that holds it.
import { Editor } from "./editor.js";
import { StreamTable } from "./stream.js";
import { drawing, element, explanation, failure, judged, matches } from "./panes.js";

const VERSION = "1";
const SLOW = 400; // milliseconds after which Stop is shown
const CLASSES = { equivalent: "yes", different: "no", undecided: "open" };
const $ = (id) => document.getElementById(id);

let languages = [];
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

// Of the answers to one kind of question only the last is shown; while one is awaited, the next waits for it.
const asking = {};
async function askLast(kind, request, show) {
  if (asking[kind]) {
    asking[kind].next = [request, show];
    return;
  }
  const turn = (asking[kind] = { next: null });
  const answer = await ask(request());
  if (asking[kind] !== turn) return;
  delete asking[kind];
  if (turn.next) askLast(kind, ...turn.next);
  else show(answer);
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

// The state that an address holds; null for none, or one of another version.
function stateOf(hash) {
  const [version, text] = hash.slice(1).split(".");
  if (version !== VERSION || !text) return null;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

let saving;
function save() {
  clearTimeout(saving);
  saving = setTimeout(() => history.replaceState(null, "", address()), 300);
}

$("share").addEventListener("click", async () => {
  history.replaceState(null, "", address());
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say("The link is in the address bar.");
  }
});

// --- the query and the stream ----------------------------------------------------------------------------------------

const query = new Editor($("query"), (text) => changed({ query: text, events: null, at: null }));
const other = new Editor($("other"), (text) => changed({ other: text }));
const answer = new Editor($("answer"), (text) => { state.answer = text; save(); });
const stream = new StreamTable($("stream"), () => changed({ stream: stream.rows, events: null, at: null }), choose);

const language = () => languages.find(({ name }) => name === state.language);
const base = () => ({ language: state.language, query: state.query, stream: state.stream });

function changed(part) {
  Object.assign(state, part);
  save();
  askLast("evaluate", () => ({ do: "evaluate", ...base() }), showMatches);
  refresh();
}

function showMatches(found) {
  const error = found.error;
  const inStream = error?.code === "input";
  query.mark(error ? (inStream ? null : error.span ?? [0, state.query.length]) : null);
  const warnings = (found.warnings ?? []).map((warning) => warning.message);
  $("query-message").textContent = error && !inStream ? error.message : warnings.join("\n");
  $("query-message").classList.toggle("warning", !error);
  $("stream-message").textContent = inStream ? error.message : "";
  if (error) {
    $("pane-matches").replaceChildren(failure(error));
    return;
  }
  $("timeline").innerHTML = found.svg;
  $("pane-matches").replaceChildren(...matches(found, state.events, (match) => choose(match.events, match.at)));
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

const tabs = [...$("tabs").children];
const REFRESH = {
  matches() {
    $("pane-matches").querySelectorAll(".found button").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.value === String(state.events)));
    });
  },
  why() {
    if (!state.events) {
      $("pane-why").replaceChildren(element("p", { className: "soft" }, "Choose a match, or events by their numbers in the stream: here it says why they are a match, or why not."));
      return;
    }
    askLast("explain", () => ({ do: "explain", ...base(), events: state.events, at: state.at }), (found) => {
      $("pane-why").replaceChildren(...(found.error ? [failure(found.error)] : explanation(found)));
    });
  },
  compare() {
    const request = () => ({ do: "compare", ...base(), other: state.other, otherLanguage: state.otherLanguage });
    askLast("compare", request, (found) => {
      const shown = found.error ? [failure(found.error)] : judged(CLASSES[found.verdict], found.lines, found.rows, take);
      $("verdict").replaceChildren(...shown);
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
        $("exercise").replaceChildren(...exercises.map((one) => element("option", { value: one.id }, `${one.id} (${one.level})`)));
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

// Takes a stream that shows a difference into the table.
function take(rows) {
  stream.show(rows);
  changed({ stream: stream.rows, events: null, at: null });
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => show(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs.at(to % tabs.length);
    show(next.id.slice(4));
    next.focus();
  });
});

$("add-event").addEventListener("click", () => stream.addEvent());
$("add-attribute").addEventListener("click", () => stream.addAttribute());
$("example").addEventListener("click", () => useExample());
$("language").addEventListener("change", ({ target }) => { state.language = target.value; useExample(); });
$("other-language").addEventListener("change", ({ target }) => changed({ otherLanguage: target.value }));
$("exercise").addEventListener("change", ({ target }) => {
  state.exercise = target.value;
  $("feedback").replaceChildren();
  show("exercises");
});
$("grade").addEventListener("click", () => {
  askLast("grade", () => ({ do: "grade", id: state.exercise, query: state.answer }), (found) => {
    answer.mark(found.error?.span ?? null);
    const taken = (rows) => {
      query.value = state.query = state.answer;
      take(rows);
    };
    const shown = found.error ? [failure(found.error)] : judged(found.right ? "yes" : "no", found.lines, found.rows, taken);
    $("feedback").replaceChildren(...shown);
  });
});

function useExample() {
  const { example, name } = language();
  Object.assign(state, { query: example.query, other: example.other ?? example.query, otherLanguage: name, stream: example.stream, events: null, at: null, exercise: null, answer: "" });
  fill();
}

function fill() {
  $("language").value = state.language;
  $("other-language").value = state.otherLanguage;
  query.value = state.query;
  other.value = state.other;
  answer.value = state.answer;
  $("feedback").replaceChildren();
  stream.show(state.stream);
  if (state.events) stream.select(state.events);
  show(state.pane);
  askLast("evaluate", () => ({ do: "evaluate", ...base() }), showMatches);
}

window.addEventListener("hashchange", () => {
  const found = stateOf(location.hash);
  if (found) {
    state = { ...state, ...found };
    fill();
  }
});

async function main() {
  document.body.classList.toggle("box", location.search === "?box");
  const begin = performance.now();
  startWorker();
  ({ languages } = await started);
  for (const id of ["language", "other-language"]) {
    $(id).replaceChildren(...languages.map(({ name, title }) => element("option", { value: name }, title)));
  }
  const found = stateOf(location.hash);
  if (location.hash && !found) say("The link is of another version; here is an example.");
  else say(`Ready after ${((performance.now() - begin) / 1000).toFixed(1)} s. Nothing leaves this page.`);
  if (found) {
    state = { ...state, ...found };
    fill();
  } else {
    state.language = languages[0].name;
    useExample();
  }
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("offline.js").catch(() => {});
}

main();
