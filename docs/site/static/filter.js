/* Narrows the page of questions to a chapter and to the words that are typed. Without a script, all of it is shown. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("form.filter");
    if (!form) {
        return;
    }
    const [words, chapter] = form.elements;
    const chapters = [...document.querySelectorAll("article section:has(> h2)")].map((section) => ({
        section,
        title: section.querySelector("h2").textContent.replace("¶", ""),
        questions: [...section.querySelectorAll("section")].map((each) => [each, each.textContent.toLowerCase()]),
    }));

    function narrow() {
        const asked = words.value.toLowerCase().split(/\s+/);
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
        form.querySelector("output").textContent = `${count} question${count === 1 ? "" : "s"}`;
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
