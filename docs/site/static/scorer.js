/* The search's weights are Sphinx's own, but a question that is searched for by its words comes first. */
var Scorer = {
    score: ([page, title, anchor, description, score]) => (anchor && page === "questions" ? score + 1000 : score),
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
};
