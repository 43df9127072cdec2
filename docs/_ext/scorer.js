// The order of what a search finds: pages with the word in their address and those that define a language come first,
// names of the API, findings and lists last.
const DEFINING = /^(theory\/(cel|core-cel|expressions|sase-plus|rows)|guide\/(sase|core-cel|event-expressions|row-patterns|meaning|match))$/;
const DETAILS = /^(reference\/api|findings\/|decisions\/|source\/|errata|claims|theory\/(proved|mutation))/;
const asked = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();

var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    score + (DETAILS.test(docname) ? -8 : (asked && docname.includes(asked) ? 12 : 0) + (DEFINING.test(docname) ? 4 : 0)),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
