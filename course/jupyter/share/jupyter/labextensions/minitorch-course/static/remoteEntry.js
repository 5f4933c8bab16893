// Three buttons above the course's notebooks, and the same as commands: Hint, Next, Reset; for the boxes of an
// interview the keys of an editor; and room for a message in a box that scrolls.
//
// JupyterLab loads this file as it is. It asks window._JUPYTERLAB[name] for the module "./extension", as it asks what
// webpack builds; so there is nothing to build. What the buttons do is in course/learner/lab.py, in the kernel.
(() => {
  const NAME = "minitorch-course";
  let shared;

  /** A package that JupyterLab itself runs with, such as "@jupyterlab/notebook". */
  async function use(name) {
    const [provided] = Object.values(shared[name]);
    return (await provided.get())();
  }

  /** The value of a function of course.learner.lab in the notebook's kernel. */
  async function ask(panel, call) {
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel) {
      throw new Error("This notebook has no kernel. Start one first.");
    }
    const expression = `__import__("course.learner.lab", fromlist=["lab"]).${call}`;
    const request = { code: "", silent: true, store_history: false, user_expressions: { answer: expression } };
    const reply = await kernel.requestExecute(request).done;
    const answer = reply.content.user_expressions.answer;
    if (answer.status !== "ok") {
      throw new Error(answer.evalue);
    }
    return answer.data["application/json"];
  }

  const about = (cell) => cell.model.getMetadata("minitorch") ?? {};

  /** The exercise of the active cell, or the last one above it, or the notebook's first; empty in a lesson. */
  function exerciseAt(panel) {
    const exercises = panel.content.widgets.map((cell) => about(cell).exercise);
    const above = exercises.slice(0, panel.content.activeCellIndex + 1).filter(Boolean);
    return above.pop() ?? exercises.find(Boolean) ?? "";
  }

  function goTo(panel, exercise) {
    const isAnswer = (cell) => about(cell).exercise === exercise && about(cell).role === "solution";
    const index = panel.content.widgets.findIndex(isAnswer);
    if (index >= 0) {
      panel.content.activeCellIndex = index;
      panel.content.scrollToItem(index, "center");
    }
  }

  const ACTIONS = {
    hint: {
      label: "Hint",
      caption: "Show the next hint of this exercise",
      async run(panel, { say }) {
        const { exercise, text } = await ask(panel, `hint(${JSON.stringify(exerciseAt(panel))})`);
        await say(exercise, text);
      },
    },
    next: {
      label: "Next",
      caption: "Go to the first exercise that is not done yet",
      async run(panel, { app, say }) {
        const { exercise, chapter, text } = await ask(panel, "following()");
        if (!exercise) {
          return say("Next", text);
        }
        const folder = panel.context.path.split("/").slice(0, -2);
        const path = [...folder, "exercises", `${chapter}.ipynb`].join("/");
        const opened = path === panel.context.path ? panel : await app.commands.execute("docmanager:open", { path });
        await opened.context.ready;
        goTo(opened, exercise);
      },
    },
    reset: {
      label: "Reset",
      caption: "Give this exercise back as it was, and keep a copy of yours",
      async run(panel, { say, confirm }) {
        const exercise = exerciseAt(panel);
        if (!exercise) {
          return say("Reset", "There is no exercise in this notebook.");
        }
        if (await confirm(exercise, "Give this exercise back as it was? A copy of this notebook is kept in my/backups.")) {
          await panel.context.save();
          await ask(panel, `reset(${JSON.stringify(exercise)})`);
          await panel.context.revert();
          goTo(panel, exercise);
        }
      },
    },
  };

  let isLeaving = false; // after Escape, Tab moves on from an interview's file

  /** Tab, Shift-Tab and Enter in an interview's file, as an editor has them. What is inserted can be undone. */
  function indent(event, area) {
    const { value, selectionStart: from, selectionEnd: to } = area;
    const start = value.lastIndexOf("\n", from - 1) + 1;
    const insert = (text) => document.execCommand(text ? "insertText" : "delete", false, text);
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey) {
      const line = value.slice(start, from);
      insert("\n" + line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : ""));
    } else if (event.key === "Tab" && !isLeaving && from === to && !event.shiftKey) {
      insert(" ".repeat(4 - ((from - start) % 4)));
    } else if (event.key === "Tab" && !isLeaving) {
      const end = value.indexOf("\n", Math.max(from, to - 1));
      area.setSelectionRange(start, end < 0 ? value.length : end);
      const lines = value.slice(start, area.selectionEnd);
      const moved = event.shiftKey ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^(?=.)/gm, "    ");
      insert(moved);
      area.setSelectionRange(from === to ? Math.max(start, from + moved.length - lines.length) : start, start + moved.length);
      if (from === to) {
        area.selectionEnd = area.selectionStart;
      }
    } else {
      isLeaving = event.key === "Escape" || (isLeaving && event.key === "Shift");
      return;
    }
    event.preventDefault();
  }

  /** In an interview: the keys of a file and of an answer, a link that opens the file, and sight of what is asked. */
  function watchInterviews(open) {
    const watched = new WeakSet();
    const look = (room) => {
      room.querySelectorAll("textarea").forEach((area) => (area.spellcheck = false));
      const [said, asked, controls, time] = room.children;
      const line = controls.querySelector("input[type=text]");
      const last = asked.innerText.trim() ? asked : said; // what is to be read now
      [time, controls, last].forEach((each) => each.scrollIntoView({ block: "nearest" }));
      line?.focus({ preventScroll: true });
    };
    document.addEventListener("click", (event) => {
      const room = event.target.closest?.(".interview-room");
      if (room && !watched.has(room)) {
        watched.add(room);
        new MutationObserver(() => setTimeout(look, 200, room)).observe(room.children[2], { childList: true });
      }
      const link = event.target.closest?.("a.interview-open");
      if (link) {
        event.preventDefault();
        open(link.dataset.path);
      }
    });
    document.addEventListener(
      "keydown",
      (event) => {
        if (event.isComposing) {
          return;
        }
        if (event.target.matches?.(".interview-file textarea")) {
          indent(event, event.target);
        } else if (event.key === "Enter" && event.target.matches?.(".interview-line input")) {
          event.target.blur(); // the kernel has what was typed before it hears of the button
          event.target.closest(".interview-room").querySelector(".interview-answer").click();
        }
      },
      true,
    );
  }

  async function plugin() {
    const { INotebookTracker } = await use("@jupyterlab/notebook");
    const { CommandToolbarButton, Dialog, ICommandPalette, showDialog, showErrorMessage } =
      await use("@jupyterlab/apputils");
    const ask = (title, body, buttons) => showDialog({ title, body, buttons });
    const say = (title, body) => ask(title, body, [Dialog.okButton()]);
    const confirm = async (title, body) =>
      (await ask(title, body, [Dialog.cancelButton(), Dialog.warnButton({ label: "Reset" })])).button.accept;

    return {
      id: `${NAME}:buttons`,
      autoStart: true,
      requires: [INotebookTracker],
      optional: [ICommandPalette],
      activate(app, tracker, palette) {
        const isOurs = (panel) => Boolean(panel?.model?.getMetadata("minitorch"));
        // The box in which a check's long values scroll would cut a single line in two.
        const style = document.createElement("style");
        style.textContent = ".jp-mod-outputsScrolled .jp-Cell-outputArea:has(.jp-OutputArea-child) { min-height: 3em; }";
        document.head.append(style);
        watchInterviews((path) => {
          const folder = tracker.currentWidget.context.path.split("/").slice(0, -2);
          const options = { mode: "split-right" };
          app.commands.execute("docmanager:open", { path: [...folder, path].join("/"), factory: "Editor", options });
        });
        for (const [action, { label, caption, run }] of Object.entries(ACTIONS)) {
          const command = `${NAME}:${action}`;
          app.commands.addCommand(command, {
            label: (args) => (args.isPalette ? `${label}: ${caption.toLowerCase()}` : label),
            caption,
            isEnabled: () => isOurs(tracker.currentWidget),
            execute: () =>
              run(tracker.currentWidget, { app, say, confirm }).catch((error) => showErrorMessage(label, error)),
          });
          palette?.addItem({ command, category: "Course", args: { isPalette: true } });
        }
        app.docRegistry.addWidgetExtension("Notebook", {
          createNew(panel, context) {
            context.ready.then(() => {
              if (isOurs(panel)) {
                for (const action of Object.keys(ACTIONS)) {
                  const button = new CommandToolbarButton({ commands: app.commands, id: `${NAME}:${action}` });
                  panel.toolbar.insertBefore("spacer", `${NAME}-${action}`, button);
                }
              }
            });
          },
        });
      },
    };
  }

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = {
    init(scope) {
      shared = scope;
    },
    async get() {
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    },
  };
})();
