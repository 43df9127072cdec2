// The stream as a table of text fields: a row for each event, a column for its type and for each attribute.
export class StreamTable {
  // changed(field) is called after an edit, with the name of the field that is typed in, removed(rows) with what is left without an event or an attribute, and
  // chosen(positions) when events are chosen.
  constructor(element, { changed, removed, chosen }) {
    Object.assign(this, { element, changed, removed, chosen, rows: [["type"]], selected: new Set() });
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
    this.changed();
  }

  addAttribute() {
    const names = this.rows[0];
    const free = ["x", "y", "z"].find((name) => !names.includes(name)) ?? `x${names.length}`;
    this.rows.forEach((row, i) => row.push(i === 0 ? free : ""));
    this.draw();
    this.element.querySelector("tr th:last-of-type input").select();
    this.changed();
  }

  // Selects these positions and no others.
  select(positions) {
    this.selected = new Set(positions);
    this.element.querySelectorAll(".position").forEach((button, p) => {
      button.setAttribute("aria-pressed", String(this.selected.has(p)));
    });
  }

  // Marks the cell of an event's attribute as wrong: [position, attribute], null for none.
  mark(cell) {
    const [r, c] = cell ? [cell[0] + 1, this.rows[0].indexOf(cell[1])] : [0, 0];
    this.element.querySelectorAll("tr").forEach((line, at) => {
      line.querySelectorAll("input").forEach((input, column) => {
        input.setAttribute("aria-invalid", String(r > 0 && at === r && column === c));
      });
    });
  }

  draw() {
    const table = document.createElement("table");
    this.rows.forEach((row, r) => {
      const line = table.insertRow();
      line.append(r ? this.position(r - 1) : cell("th", "", "#"));
      row.forEach((text, c) => line.append(r ? cell("td", "", this.field(r, c, text)) : this.head(c, text)));
      line.append(cell("td", "", r ? button("×", `Remove event ${r - 1}`, () => this.removeEvent(r)) : ""));
    });
    this.element.replaceChildren(table);
    this.label();
  }

  head(c, text) {
    const made = cell("th", "col", this.field(0, c, text));
    if (c) made.append(button("×", "", () => this.removeAttribute(c)));
    return made;
  }

  // What is read out of the fields, which are named after the attributes.
  label() {
    this.element.querySelectorAll("tr").forEach((line, r) => {
      line.querySelectorAll("input").forEach((input, c) => {
        const name = this.rows[0][c];
        input.setAttribute("aria-label", r ? `${name} of event ${r - 1}` : c ? `Name of attribute ${name}` : "Type of event");
        if (r === 0) input.nextElementSibling?.setAttribute("aria-label", `Remove attribute ${name}`);
      });
    });
  }

  position(p) {
    const choose = button(String(p), `Event ${p}: ask about it`, () => {
      this.selected.delete(p) || this.selected.add(p);
      this.select(this.selected);
      this.chosen([...this.selected].sort((a, b) => a - b));
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
    input.style.minWidth = `calc(${Math.max(4, text.length)}ch + ${r || !c ? 1 : 2.75}rem)`; // in a head there is a button
    input.readOnly = r === 0 && c === 0;
    input.addEventListener("input", () => {
      this.rows[r][c] = input.value.trim();
      if (r === 0) this.label();
      this.changed(`${r}, ${c}`);
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

  removeEvent(r) {
    this.removed(this.rows.filter((_, at) => at !== r));
    this.focus(`tr:nth-child(${Math.min(r, this.rows.length - 1) + 1}) td:last-child button`);
  }

  removeAttribute(c) {
    this.removed(this.rows.map((row) => row.filter((_, at) => at !== c)));
    this.focus(`th:nth-child(${Math.min(c, this.rows[0].length - 1) + 2}) button`);
  }

  // The focus goes on to what is next; where nothing is left, to the table.
  focus(selector) {
    (this.element.querySelector(selector) ?? this.element).focus();
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
