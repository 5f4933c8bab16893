/* The front page's text appears letter by letter, as the model wrote it; at once for who wants no motion. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector("[data-writes]");
    if (!place || matchMedia("(prefers-reduced-motion: reduce)").matches) {
        return;
    }
    const text = place.textContent;
    place.style.minHeight = `${place.offsetHeight}px`;
    place.setAttribute("aria-label", text);
    let written = 0;
    const timer = setInterval(() => {
        written += 1;
        place.textContent = text.slice(0, written);
        if (written === text.length) {
            clearInterval(timer);
        }
    }, 45);
});
