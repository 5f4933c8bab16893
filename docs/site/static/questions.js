/* A heading is found by some of its words: Sphinx finds it only by more than half of its text, in one piece. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") {
        return; // this is not the page of the search
    }
    const search = Search._performSearch;
    const filler = new Set(
        "a an and are between can difference do does explain for how i in is it my of on or the to versus vs what when where which why with you your".split(" "),
    );
    const stemmer = new Stemmer();
    const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
    const stems = (text) => wordsOf(text).filter((word) => !filler.has(word)).map((word) => stemmer.stemWord(word));

    Search._performSearch = (query, ...terms) => {
        const { alltitles, docnames, filenames, titles } = Search._index;
        const asked = stems(query);
        const isQuestion = (file, id) => id && docnames[file] === "questions";
        const isLesson = (file, id) => !id && docnames[file].startsWith("lessons/");
        const isPage = (file, id) => isLesson(file, id) || (!id && docnames[file].startsWith("exercises/"));
        const holdsAll = (held) => asked.every((stem) => held.some((each) => each.startsWith(stem) || each.includes(`_${stem}`)));
        const isHeld = (held) => held.length > 1 && held.every((stem) => asked.includes(stem));
        // One word is a topic, for which a page comes first; several are a question.
        const rank = ([file, id]) => (isQuestion(file, id) ? (asked.length > 1 ? 3 : 0) : isLesson(file, id) ? 2 : 1);
        const found = Object.entries(alltitles)
            .filter(() => asked.length)
            .flatMap(([title, places]) => {
                const held = stems(title);
                const [all, named] = [holdsAll(held), isHeld(held)];
                return places
                    .filter(([file, id]) => (all && isQuestion(file, id)) || ((all || named) && isPage(file, id)))
                    .map((place) => ({ title, place }));
            })
            .sort((one, other) => rank(one.place) - rank(other.place) || other.title.length - one.title.length)
            .map(({ title, place: [file, id] }) => {
                const shown = titles[file] === title ? title : `${titles[file]} > ${title}`;
                return [docnames[file], shown, id ? `#${id}` : "", null, 1000, filenames[file], "title"];
            });
        const isNew = ([page, , anchor]) => !found.some((each) => each[0] === page && each[2] === anchor);
        return [...search(query, ...terms).filter(isNew), ...found]; // the last one is shown first
    };
});
