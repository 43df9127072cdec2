// What the theme leaves to the mouse, for the keyboard and for those who listen.

function named(selector, name) {
  document.querySelectorAll(selector).forEach((element) => element.setAttribute("aria-label", name));
}

// A label that opens a drawer becomes a button; Escape closes the drawer and goes back to it.
function drawer(box, drawn, name) {
  const input = document.getElementById(box);
  const shown = document.querySelector(drawn);
  if (!input || !shown) return;
  let last = null;
  const buttons = [...document.querySelectorAll(`label[for="${box}"]:not(.overlay)`)].map((label) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = label.className;
    button.setAttribute("aria-label", name);
    button.append(...label.childNodes);
    label.replaceWith(button);
    button.addEventListener("click", () => {
      last = button;
      open(!input.checked);
    });
    return button;
  });
  const update = () => buttons.forEach((button) => button.setAttribute("aria-expanded", String(input.checked)));
  const open = (now) => {
    input.checked = now;
    update();
    if (now) setTimeout(() => shown.querySelector("a, input").focus(), 50);
    else if (last) last.focus();
  };
  update();
  input.addEventListener("change", update);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.checked) open(false);
  });
}

// The lines of a table or a tree that a command prints are not broken (book.css).
function drawn() {
  for (const pre of document.querySelectorAll("pre")) if (/──|^\+--/m.test(pre.textContent)) pre.classList.add("drawn");
}

// What is wider than its place is scrolled with the arrow keys, once it has the focus.
function scrolled() {
  document.querySelectorAll("pre, .table-wrapper, .highlight, .math, .drawing, p:has(> img)").forEach((element) => {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  });
}

// The page of the search has no heading of its own, and without a question nothing at all.
function headed() {
  const results = document.getElementById("search-results");
  if (!results || document.querySelector("h1")) return;
  const heading = document.createElement("h1");
  heading.textContent = "Search";
  results.before(heading);
  if (new URLSearchParams(location.search).get("q")) return;
  results.textContent = "Write what you look for into the search field at the top of the list of all pages.";
}

// An example that is live is the playground itself, where the book is served and has it.
function played() {
  document.querySelectorAll(".example.live").forEach((example) => {
    const link = example.querySelector('a[href*="playground/index.html#"]');
    if (!link || !location.protocol.startsWith("http")) return;
    const frame = document.createElement("iframe");
    frame.title = "Playground";
    frame.className = "waiting";
    frame.src = link.getAttribute("href").replace("#", "?box#");
    frame.addEventListener("load", () => {
      const inside = frame.contentDocument.body;
      new ResizeObserver(() => { frame.style.height = `${inside.offsetHeight}px`; }).observe(inside);
      // The drawing stays until the playground answers.
      const show = () => {
        if (!("ready" in inside.dataset)) return;
        example.querySelectorAll(".highlight-text, .drawing").forEach((element) => element.remove());
        frame.className = "";
      };
      new MutationObserver(show).observe(inside, { attributes: true });
      show();
    });
    // The link leads to what the box shows when it is followed, edits and all.
    const follow = () => { link.href = link.href.replace(/#.*/, frame.contentWindow.location.hash || "$&"); };
    for (const name of ["focus", "mousedown", "click"]) link.addEventListener(name, follow);
    example.prepend(frame);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  played();
  headed();
  document.querySelectorAll('[role="heading"]:not([aria-level])').forEach((e) => e.setAttribute("aria-level", "2"));
  document.querySelectorAll(".content-icon-container").forEach((icons) => icons.setAttribute("role", "navigation"));
  named(".content-icon-container", "Source and colours of this page");
  named(".sidebar-drawer", "All pages");
  named(".toc-drawer", "On this page");
  drawer("__navigation", ".sidebar-drawer", "All pages");
  drawer("__toc", ".toc-drawer", "On this page");
  drawn();
  scrolled();
  window.addEventListener("load", scrolled); // when pictures have their width
  window.addEventListener("resize", scrolled);
});
