// The order of what a search finds: pages that define a language come first, names of the API and stored findings last.
const DEFINING = /^(theory\/(cel|core-cel|expressions|sase-plus|rows)|guide\/(sase|core-cel|event-expressions|row-patterns|meaning|match))$/;
const DETAILS = /^(reference\/api|findings\/|decisions\/|source\/)/;

var Scorer = {
  score: ([docname, title, anchor, descr, score]) => score + (DEFINING.test(docname) ? 4 : DETAILS.test(docname) ? -8 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
