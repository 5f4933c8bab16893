/* A question is found by some of its words: Sphinx finds a heading only by more than half of its text, in one piece. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") {
        return; // this is not the page of the search
    }
    const search = Search._performSearch;
    Search._performSearch = (query, ...terms) => {
        const { alltitles, docnames, filenames, titles } = Search._index;
        const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
        const holds = (title) => words.length > 1 && words.every((word) => title.toLowerCase().includes(word));
        const found = Object.entries(alltitles)
            .filter(([title]) => holds(title))
            .sort(([one], [other]) => other.length - one.length)
            .flatMap(([title, places]) =>
                places
                    .filter(([file, id]) => id && docnames[file] === "questions")
                    .map(([file, id]) => ["questions", `${titles[file]} > ${title}`, `#${id}`, null, 1000, filenames[file], "title"]),
            );
        const isNew = ([page, , anchor]) => !found.some((each) => each[0] === page && each[2] === anchor);
        return [...search(query, ...terms).filter(isNew), ...found]; // the last one is shown first
    };
});
