// The stream as a table of text fields: a row for each event, a column for its type and for each attribute.
export class StreamTable {
  constructor(element, onChange, onSelect) {
    Object.assign(this, { element, onChange, onSelect, rows: [["type"]], selected: new Set() });
  }

  // rows: the header and the events, each a list of texts.
  show(rows) {
    this.rows = rows.map((row) => [...row]);
    this.selected.clear();
    this.draw();
  }

  addEvent() {
    const last = this.rows.at(-1);
    this.rows.push(this.rows[0].map((_, i) => (i === 0 && this.rows.length > 1 ? last[0] : "")));
    this.draw();
    this.element.querySelector("tr:last-child input").select();
    this.onChange();
  }

  addAttribute() {
    const names = this.rows[0];
    const free = ["x", "y", "z"].find((name) => !names.includes(name)) ?? `x${names.length}`;
    this.rows.forEach((row, i) => row.push(i === 0 ? free : ""));
    this.draw();
    this.element.querySelector("tr th:last-of-type input").select();
    this.onChange();
  }

  // Selects these positions and no others.
  select(positions) {
    this.selected = new Set(positions);
    this.element.querySelectorAll(".position").forEach((button, p) => {
      button.setAttribute("aria-pressed", String(this.selected.has(p)));
    });
  }

  draw() {
    const table = document.createElement("table");
    this.rows.forEach((row, r) => {
      const line = table.insertRow();
      line.append(r ? this.position(r - 1) : cell("th", "", "#"));
      row.forEach((text, c) => line.append(cell(r ? "td" : "th", "", this.field(r, c, text))));
      const remove = button("×", `Remove event ${r - 1}`, () => this.remove(r));
      line.append(cell("td", "", r ? remove : ""));
    });
    this.element.replaceChildren(table);
  }

  position(p) {
    const choose = button(String(p), `Event ${p}: ask about it`, () => {
      this.selected.delete(p) || this.selected.add(p);
      this.select(this.selected);
      this.onSelect([...this.selected].sort((a, b) => a - b));
    });
    choose.className = "position";
    choose.setAttribute("aria-pressed", String(this.selected.has(p)));
    return cell("th", "row", choose);
  }

  field(r, c, text) {
    const input = document.createElement("input");
    input.value = text;
    input.spellcheck = false;
    input.autocapitalize = "off";
    input.size = Math.max(4, text.length);
    input.readOnly = r === 0 && c === 0;
    input.setAttribute("aria-label", r ? `${this.rows[0][c]} of event ${r - 1}` : `Name of column ${c}`);
    input.addEventListener("input", () => {
      this.rows[r][c] = input.value.trim();
      this.onChange();
    });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, Enter: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      if (event.key === "Enter" && r === this.rows.length - 1) this.addEvent();
      else this.element.querySelectorAll("tr")[r + step]?.querySelectorAll("input")[c].focus();
    });
    return input;
  }

  remove(r) {
    this.rows.splice(r, 1);
    this.selected.clear();
    this.draw();
    this.onChange();
  }
}

function cell(tag, scope, content) {
  const made = document.createElement(tag);
  if (scope) made.scope = scope;
  made.append(content);
  return made;
}

function button(text, label, onClick) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: text });
  made.setAttribute("aria-label", label);
  made.addEventListener("click", onClick);
  return made;
}
