/* A picture with sliders: shows the frame for where they are. One that plays stops when it is asked to, or touched. */
"use strict";

function setUp(figure) {
    const about = JSON.parse(figure.dataset.about);
    const image = figure.querySelector("img");
    const controls = [...figure.querySelectorAll("input")];

    function show() {
        let place = 0;
        controls.forEach((control, number) => {
            const label = about.labels[number][control.value];
            place = place * about.labels[number].length + Number(control.value);
            control.nextElementSibling.textContent = label;
            control.setAttribute("aria-valuetext", label);
        });
        image.src = `${figure.dataset.folder}/${place}.png`;
        image.alt = about.alts[place];
    }

    controls.forEach((control) => control.addEventListener("input", show));
    figure.querySelector(".controls").hidden = false;
    if ("plays" in figure.dataset) {
        play(figure, controls, show);
    }
}

function play(figure, controls, show) {
    const button = figure.querySelector(".play");
    let timer = null;

    function step() {
        for (const control of [...controls].reverse()) {
            const last = control.value === control.max;
            control.value = last ? 0 : Number(control.value) + 1;
            if (!last) {
                break;
            }
        }
        show();
    }

    function toggle(on) {
        clearInterval(timer);
        timer = on ? setInterval(step, 1500) : null;
        button.textContent = on ? "Pause" : "Play";
    }

    button.hidden = false;
    button.addEventListener("click", () => toggle(timer === null));
    controls.forEach((control) => control.addEventListener("input", () => toggle(false)));
    toggle(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}

document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("figure.moving").forEach(setUp));
