// Makes the tables of the board of engines a heat map, and filters them by language and by the features that a user
// needs. All of it is read from the tables, which say the same without it.

const BOARD = [...document.querySelectorAll("table")].filter((table) => table.rows[0].cells[0].textContent === "feature");
const SAID = { right: "right in", choice: "right but for a choice in", wrong: "wrong in", unclaimed: "not claimed by" };
const KINDS = Object.keys(SAID); // from best to worst

// Returns the kind of a cell, and the share of the claimed cases that passed. A link without "choice" is a defect.
function rate(cell) {
  const text = cell.textContent.trim();
  const [, passed, claimed] = text.match(/^(\d+)\/(\d+)/) || [];
  if (!claimed) return ["unclaimed", 0];
  if (passed === claimed) return ["right", 1];
  const defect = [...cell.querySelectorAll("a")].some((link) => !link.textContent.includes("choice"));
  return [defect || /unexplained|no answer/.test(text) ? "wrong" : "choice", passed / claimed];
}

function paint(table) {
  for (const cell of table.querySelectorAll("tbody td:not(:first-child)")) {
    const [kind, share] = rate(cell);
    cell.dataset.kind = kind;
    cell.style.setProperty("--share", share);
    // One line for each finding, so that columns are narrow.
    for (const text of [...cell.firstElementChild.childNodes]) if (!text.href) text.data = text.data.replace(/^, |[:,] ?$/g, "");
    for (const link of cell.querySelectorAll("a")) {
      link.title = link.hash.slice(1).replaceAll("-", " ");
      if (!link.textContent.includes("choice")) link.append(" defect");
    }
  }
}

// Says which engines have the chosen features, and hides the columns of those that do not claim one of them.
function choose(table) {
  const rows = [...table.tBodies[0].rows];
  const chosen = rows.filter((row) => row.querySelector("input").checked);
  const engines = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  [...table.rows[0].cells].slice(1).forEach((head, k) => {
    const worst = Math.max(0, ...chosen.map((row) => KINDS.indexOf(row.cells[k + 1].dataset.kind)));
    engines[KINDS[worst]].push(head.textContent.split(" ")[0]);
    for (const row of table.rows) row.cells[k + 1].hidden = KINDS[worst] === "unclaimed";
  });
  const parts = KINDS.filter((kind) => engines[kind].length).map((kind) => `${SAID[kind]} ${engines[kind].join(", ")}`);
  const names = chosen.map((row) => row.cells[0].textContent.trim());
  table.said.textContent = names.length ? `${names.join(", ")}: ${parts.join("; ")}.` : "Tick the features that you need.";
  return names;
}

function filter(language) {
  const needed = BOARD.flatMap(choose);
  for (const table of BOARD) table.closest("section").hidden = language.value && language.value !== table.language;
  const query = new URLSearchParams();
  if (language.value) query.set("language", language.value);
  if (needed.length) query.set("need", needed.join(","));
  history.replaceState(null, "", `?${query}${location.hash}`.replace(/^\?(?=#|$)/, location.pathname));
}

function start() {
  const asked = new URLSearchParams(location.search);
  const needed = (asked.get("need") || "").split(",");
  const language = document.createElement("select");
  for (const table of BOARD) {
    const heading = table.closest("section").querySelector("h2");
    table.language = heading.firstChild.textContent;
    paint(table);
    for (const row of table.tBodies[0].rows) {
      const box = document.createElement("input");
      const label = document.createElement("label");
      box.type = "checkbox";
      box.checked = needed.includes(row.cells[0].textContent.trim());
      box.addEventListener("change", () => filter(language));
      label.append(box, row.cells[0].textContent);
      row.cells[0].replaceChildren(label);
    }
    table.said = document.createElement("p");
    table.said.setAttribute("role", "status");
    heading.after(table.said);
  }
  for (const name of ["", ...BOARD.map((table) => table.language)]) language.add(new Option(name || "all languages", name));
  language.value = asked.get("language") || "";
  language.addEventListener("change", () => filter(language));
  const label = document.createElement("label");
  label.className = "board";
  label.append("Show ", language);
  BOARD[0].closest("section").before(label);
  filter(language);
}

start();
