/* What the theme leaves out for those who use a keyboard or a screen reader. */
"use strict";

function reach() {
    for (const place of document.querySelectorAll("pre, .table-wrapper")) {
        if (place.scrollWidth > place.clientWidth) {
            place.tabIndex = 0;
        }
    }
}

document.addEventListener("DOMContentLoaded", () => {
    document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Contents of the site");
    document.querySelector(".toc-drawer")?.setAttribute("aria-label", "Contents of the page");
    document.querySelectorAll("summary[aria-label]").forEach((each) => each.removeAttribute("aria-label"));
    document.querySelectorAll("details").forEach((each) => each.addEventListener("toggle", reach));
    reach();
});
addEventListener("resize", reach);
