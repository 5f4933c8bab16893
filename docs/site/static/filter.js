/* Narrows the page of questions to a chapter and to the words that are typed, and the whiteboard's table to the words
   alone. Without a script, all of it is shown. */
"use strict";

const FILLER = new Set("手撕 vs versus why what how when which the a an is are do does and or".split(" "));

/* The words typed that tell something; all of them if none does. */
function telling(text) {
    const typed = text.toLowerCase().split(/\s+/);
    const kept = typed.filter((word) => !FILLER.has(word));
    return kept.length ? kept : typed;
}

document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("form.filter.rows");
    if (!form) {
        return;
    }
    const rows = [...document.querySelectorAll("article table tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);

    function narrow() {
        const asked = telling(form.elements[0].value);
        const shown = rows.filter(([row, text]) => {
            row.hidden = !asked.every((word) => text.includes(word));
            return !row.hidden;
        });
        form.querySelector("output").textContent = `${shown.length} problem${shown.length === 1 ? "" : "s"}`;
    }

    form.addEventListener("input", narrow);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(narrow));
    form.hidden = false;
    narrow();
});

document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("form.filter:not(.rows)");
    if (!form) {
        return;
    }
    const [words, chapter] = form.elements;
    const links = document.querySelector("article p:has(> a[href^='#questions-'])");
    const chapters = [...document.querySelectorAll("article section:has(> h2)")].map((section) => ({
        section,
        title: section.querySelector("h2").textContent.replace("¶", ""),
        questions: [...section.querySelectorAll("section")].map((each) => [each, each.textContent.toLowerCase()]),
    }));

    function narrow() {
        const asked = telling(words.value);
        let count = 0;
        for (const { section, title, questions } of chapters) {
            const isChosen = !chapter.value || chapter.value === title;
            const shown = questions.filter(([each, text]) => {
                each.hidden = !(isChosen && asked.every((word) => text.includes(word)));
                return !each.hidden;
            });
            section.hidden = !shown.length;
            count += shown.length;
        }
        links.hidden = chapter.value || words.value.trim(); // what was found comes first, on a phone too
        const none = count ? "" : ": the site's search looks into lessons and exercises, too";
        form.querySelector("output").textContent = `${count} question${count === 1 ? "" : "s"}${none}`;
    }

    chapter.append(...chapters.map(({ title }) => new Option(title)));
    form.addEventListener("input", narrow);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(narrow)); // the fields are empty only after the event
    addEventListener("hashchange", () => {
        const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
        if (target?.closest("[hidden]")) {
            form.reset();
            setTimeout(() => target.scrollIntoView());
        }
    });
    form.hidden = false;
    narrow();
});
