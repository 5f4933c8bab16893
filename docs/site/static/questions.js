/* A heading is found by some of its words, and an exercise by the names under which interviews ask for it: Sphinx finds
   them only by more than half of their text, in one piece. A page is found by any part of its Chinese names. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") {
        return; // this is not the page of the search
    }
    const search = Search._performSearch;
    const summary = Search.makeSearchSummary;
    Search.makeSearchSummary = (page, words, anchor) =>
        summary(page, words, anchor) ?? summary(page, words) ?? document.createElement("p"); // the place of a name is empty
    const filler = new Set(
        "a an and are between can code difference do does explain for from how i implement in is it my of on or scratch the to versus vs what when where which why with write you your".split(" "),
    );
    const stemmer = new Stemmer();
    const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
    const stems = (text) => wordsOf(text).filter((word) => !filler.has(word)).map((word) => stemmer.stemWord(word));
    const han = /\p{Script=Han}+/gu;
    const hanFiller = /手撕|面试题?|怎么|如何|是什么|什么是|为什么|区别|实现|代码|写|的|和/gu;

    /* The files that have all Chinese words of a query in their names, the lessons first. A word that is in no name counts
       by its pairs of characters, and says nothing if those aren't either. */
    function chinese(query) {
        const { docnames, indexentries } = Search._index;
        const namedBy = (words) => {
            const names = Object.entries(indexentries).filter(([name]) => words.some((word) => name.includes(word)));
            return new Set(names.flatMap(([, places]) => places.map(([file]) => file)));
        };
        const pairs = (word) => [...word].slice(1).map((character, i) => [...word][i] + character);
        const told = query.replace(hanFiller, " ").match(han) ?? (stems(query.replace(han, " ")).length ? [] : query.match(han));
        const files = (told ?? [])
            .map((word) => (namedBy([word]).size ? namedBy([word]) : namedBy(pairs(word))))
            .filter((each) => each.size);
        const common = [...(files[0] ?? [])].filter((file) => files.every((each) => each.has(file)));
        const isLesson = (file) => docnames[file].startsWith("lessons/");
        return (common.length ? common : [...new Set(files.flatMap((each) => [...each]))]).sort(
            (one, other) => isLesson(other) - isLesson(one) || one - other,
        );
    }

    Search._performSearch = (whole, wanted, ...terms) => {
        const { alltitles, docnames, filenames, indexentries, titles } = Search._index;
        const [query, named] = [whole.replace(han, " "), chinese(whole)];
        const words = new Set([...wanted].filter((word) => !word.match(han)));
        const asked = stems(query);
        if (!words.size) {
            asked.forEach((stem) => words.add(stem)); // a word that stood beside a Chinese one, without a space
        }
        const isQuestion = (file, id) => id && docnames[file] === "questions";
        const isLesson = (file, id) => !id && docnames[file].startsWith("lessons/");
        const isPage = (file, id) => isLesson(file, id) || (!id && docnames[file].startsWith("exercises/"));
        const isIn = (held) => (stem) => held.some((each) => each.startsWith(stem) || each.includes(`_${stem}`));
        const missing = (held) => asked.length - asked.filter(isIn(held)).length;
        const isHeld = (held) => held.length > 1 && held.every((stem) => asked.includes(stem));
        // One word is a topic, for which a page comes first; several are a question; and 手撕 asks for an exercise.
        const written = whole.includes("手撕") ? 4 : 1;
        const rank = ([file, id]) => (isQuestion(file, id) ? (asked.length > 1 ? 3 : 0) : isLesson(file, id) ? 2 : written);
        const names = Object.entries(indexentries)
            .map(([name, places]) => [name, places.filter(([file]) => docnames[file].startsWith("exercises/"))])
            .map(([name, places]) => [name, places.map(([file]) => [file, null])]);
        const sorted = [...Object.entries(alltitles), ...names]
            .filter(() => asked.length)
            .flatMap(([title, places]) => {
                const held = stems(title);
                const [all, isNamed] = [missing(held) === 0, isHeld(held)];
                const nearly = asked.length > 2 && missing(held) === 1; // one word of several is in other words there
                return places
                    .filter(([file, id]) => ((all || nearly) && isQuestion(file, id)) || ((all || isNamed) && isPage(file, id)))
                    .map((place) => ({ title, place, isWhole: all || isNamed }));
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
        const hits = [...(words.size ? search(query, words, ...terms).filter(isNew) : []), ...found]; // the last one is shown first
        const both = hits.filter(([page]) => named.some((file) => docnames[file] === page));
        const pages = named.map((file) => [docnames[file], titles[file], "", null, 1000, filenames[file], "title"]);
        return both.length ? both : asked.length ? hits : pages.reverse();
    };
});
