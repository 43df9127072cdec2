"use strict";
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const all = (selector, root = document) => (root ? [...root.querySelectorAll(selector)] : []);
  const byId = (id) => document.getElementById(id);
  const [slider, jump, says] = ["slider", "jump", "says"].map(byId);
  const sections = all(".step");
  const cards = all("#events rect.event").map((rect) => rect.parentNode);
  const states = all(".diagram .state");
  const drawn = all(".diagram .arrow").filter((arrow) => arrow.parentNode.tagName === "g" && !arrow.matches(".initial"));
  const arrows = run.arrows; // how many the diagram has: first all strokes, then all texts
  const nodes = all("#graph .node");
  const links = all("#graph .arrow[data-born]");
  const columns = all("#graph .column");
  const last = run.steps.length - 1;
  const follows = run.steps.some((step) => step.fired.length > 0);
  let at = 0;

  const inView = (box, element) => {
    if (!box || !element) return;
    const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
    if (inner.left < outer.left + 8) box.scrollLeft += inner.left - outer.left - 24;
    if (inner.right > outer.right - 8) box.scrollLeft += inner.right - outer.right + 24;
  };

  const pick = (button) => {
    const on = button && button.getAttribute("aria-pressed") !== "true";
    all(".found button").forEach((other) => other.setAttribute("aria-pressed", String(on && other === button)));
    const chosen = (name) => new Set(on ? button.dataset[name].split(" ").filter(Boolean) : []);
    const [path, events] = [chosen("path"), chosen("events")];
    nodes.forEach((node) => node.classList.toggle("picked", path.has(node.dataset.node)));
    cards.forEach((card, n) => card.classList.toggle("picked", events.has(String(n))));
  };

  const show = (step) => {
    at = Math.max(0, Math.min(last, step));
    const { at: n, active, fired, live } = run.steps[at]; // n: the position; that before the first event is -1
    sections.forEach((section, i) => section.classList.toggle("shown", i === at));
    cards.forEach((card, i) => {
      card.classList.toggle("now", i === n);
      card.classList.toggle("later", i > n);
    });
    states.forEach((state, q) => state.classList.toggle("active", active.includes(q)));
    drawn.forEach((arrow, k) => {
      arrow.classList.toggle("fired", fired.includes(k % arrows));
      arrow.classList.toggle("resting", follows && n >= 0 && !fired.includes(k % arrows));
    });
    const alive = new Set(live);
    nodes.forEach((node, i) => {
      const born = Number(node.dataset.born);
      node.classList.toggle("later", born > n);
      node.classList.toggle("new", born === n && n >= 0);
      node.classList.toggle("idle", born <= n && !alive.has(i));
    });
    links.forEach((link) => {
      const born = Number(link.dataset.born);
      link.classList.toggle("later", born > n);
      link.classList.toggle("new", born === n && n >= 0);
      link.classList.toggle("idle", born <= n && !alive.has(Number(link.dataset.source)));
    });
    columns.forEach((column) => column.classList.toggle("later", Number(column.dataset.at) > n));
    pick(null);
    slider.value = jump.value = String(at - 1);
    slider.setAttribute("aria-valuetext", n < 0 ? "before the first event" : n < cards.length ? `event ${n}` : "the end of the stream");
    for (const [id, stop] of [["first", 0], ["back", 0], ["on", last], ["end", last]]) {
      byId(id).setAttribute("aria-disabled", String(at === stop));
    }
    says.textContent = sections[at].dataset.says;
    inView(byId("events"), cards[Math.min(Math.max(n, 0), cards.length - 1)]);
    inView(byId("graph"), nodes.filter((node) => node.classList.contains("new")).pop());
    if (location.protocol !== "about:") history.replaceState(null, "", `#${at - 1}`); // a page inside a notebook has no address
  };

  const fromHash = () => {
    const n = Number.parseInt(location.hash.slice(1), 10);
    return Number.isNaN(n) ? 0 : n + 1;
  };

  document.documentElement.classList.add("scripted");
  all(".controls, #says").forEach((element) => element.removeAttribute("hidden"));
  byId("first").addEventListener("click", () => show(0));
  byId("back").addEventListener("click", () => show(at - 1));
  byId("on").addEventListener("click", () => show(at + 1));
  byId("end").addEventListener("click", () => show(last));
  slider.addEventListener("input", () => show(Number(slider.value) + 1));
  jump.addEventListener("change", () => show(Number.parseInt(jump.value, 10) + 1 || 0));
  cards.forEach((card, n) => {
    card.classList.add("card");
    const first = run.steps.findIndex((step) => step.at === n);
    if (first >= 0) card.addEventListener("click", () => show(first));
  });
  all(".found button").forEach((button) => button.addEventListener("click", () => pick(button)));
  window.addEventListener("hashchange", () => show(fromHash()));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, .scroll")) return; // there the arrows have a meaning already
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  show(fromHash());
})();
