// A text area with its text coloured behind it, and a part of it marked as wrong.
const TOKENS = /('(?:[^']|'')*'?)|(\b\d+(?:\.\d+)?\b)|(\b[A-Z][A-Z-]+\b|\b[a-z_]+(?=\s*\())/g;
const CLASSES = ["string", "number", "keyword"];

export class Editor {
  constructor(element, onChange) {
    this.element = element;
    [this.text, this.area] = [element.querySelector("pre"), element.querySelector("textarea")];
    this.area.addEventListener("input", () => {
      this.mark(null);
      onChange(this.value);
    });
  }

  get value() {
    return this.area.value;
  }

  set value(text) {
    this.area.value = text;
    this.mark(null);
  }

  // Marks the characters of a span [start, end) as wrong; null for none.
  mark(span) {
    const parts = [];
    const from = span ? Math.min(span[0], this.value.length) : -1;
    const to = span ? Math.max(span[1], from + 1) : -1;
    for (const [text, start, name] of tokens(this.value)) {
      for (const [a, b] of [[start, from], [Math.max(start, from), to], [Math.max(start, to), Infinity]]) {
        const piece = text.slice(Math.max(0, a - start), Math.max(0, b - start));
        if (piece) parts.push(styled(piece, name, a >= from && a < to));
      }
    }
    if (span && from >= this.value.length) parts.push(styled(" ", "", true));
    this.text.replaceChildren(...parts, "\n");
    this.element.classList.toggle("wrong", span !== null);
    this.area.setAttribute("aria-invalid", String(span !== null));
  }
}

function* tokens(text) {
  let at = 0;
  for (const found of text.matchAll(TOKENS)) {
    if (found.index > at) yield [text.slice(at, found.index), at, ""];
    yield [found[0], found.index, CLASSES[found.slice(1).findIndex((group) => group !== undefined)]];
    at = found.index + found[0].length;
  }
  if (at < text.length) yield [text.slice(at), at, ""];
}

function styled(text, name, wrong) {
  const span = document.createElement("span");
  span.textContent = text;
  span.className = [name, wrong ? "error" : ""].join(" ").trim();
  return span;
}
