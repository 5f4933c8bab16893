/* A heading is found by some of its words, and an exercise by the names under which interviews ask for it: Sphinx finds
   them only by more than half of their text, in one piece. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") {
        return; // this is not the page of the search
    }
    const search = Search._performSearch;
    const filler = new Set(
        "a an and are between can code difference do does explain for from how i implement in is it my of on or scratch the to versus vs what when where which why with write you your".split(" "),
    );
    const stemmer = new Stemmer();
    const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
    const stems = (text) => wordsOf(text).filter((word) => !filler.has(word)).map((word) => stemmer.stemWord(word));

    Search._performSearch = (query, ...terms) => {
        const { alltitles, docnames, filenames, indexentries, titles } = Search._index;
        const asked = stems(query);
        const isQuestion = (file, id) => id && docnames[file] === "questions";
        const isLesson = (file, id) => !id && docnames[file].startsWith("lessons/");
        const isPage = (file, id) => isLesson(file, id) || (!id && docnames[file].startsWith("exercises/"));
        const isIn = (held) => (stem) => held.some((each) => each.startsWith(stem) || each.includes(`_${stem}`));
        const missing = (held) => asked.length - asked.filter(isIn(held)).length;
        const isHeld = (held) => held.length > 1 && held.every((stem) => asked.includes(stem));
        // One word is a topic, for which a page comes first; several are a question.
        const rank = ([file, id]) => (isQuestion(file, id) ? (asked.length > 1 ? 3 : 0) : isLesson(file, id) ? 2 : 1);
        const names = Object.entries(indexentries)
            .map(([name, places]) => [name, places.filter(([file]) => docnames[file].startsWith("exercises/"))])
            .map(([name, places]) => [name, places.map(([file]) => [file, null])]);
        const sorted = [...Object.entries(alltitles), ...names]
            .filter(() => asked.length)
            .flatMap(([title, places]) => {
                const held = stems(title);
                const [all, named] = [missing(held) === 0, isHeld(held)];
                const nearly = asked.length > 2 && missing(held) === 1; // one word of several is in other words there
                return places
                    .filter(([file, id]) => ((all || nearly) && isQuestion(file, id)) || ((all || named) && isPage(file, id)))
                    .map((place) => ({ title, place, isWhole: all || named }));
            })
            .sort(
                (one, other) =>
                    one.isWhole - other.isWhole ||
                    rank(one.place) - rank(other.place) ||
                    other.title.length - one.title.length,
            )
            .map(({ title, place: [file, id] }) => {
                const shown = id ? `${titles[file]} > ${title}` : titles[file];
                return [docnames[file], shown, id ? `#${id}` : "", null, 1000, filenames[file], "title"];
            });
        const found = [...new Map(sorted.reverse().map((each) => [each[0] + each[2], each])).values()].reverse();
        const isNew = ([page, , anchor]) => !found.some((each) => each[0] === page && each[2] === anchor);
        return [...search(query, ...terms).filter(isNew), ...found]; // the last one is shown first
    };
});
