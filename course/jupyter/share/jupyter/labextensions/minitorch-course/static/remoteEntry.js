// Three buttons above the course's notebooks, and the same as commands: Hint, Next, Reset; for the boxes of an
// interview the keys of an editor; and room for a message in a box that scrolls.
//
// JupyterLab loads this file as it is. It asks window._JUPYTERLAB[name] for the module "./extension", as it asks what
// webpack builds; so there is nothing to build. What the buttons do is in course/learner/lab.py, in the kernel.
(() => {
  const NAME = "minitorch-course";
  const BUSY = "The kernel is busy with a cell. Wait until the cell ends, or interrupt it; then try again.";
  let shared;

  /** A package that JupyterLab itself runs with, such as "@jupyterlab/notebook". */
  async function use(name) {
    const [provided] = Object.values(shared[name]);
    return (await provided.get())();
  }

  /** What asks the kernel for the value of a function of course.learner.lab. */
  function request(call) {
    const expression = `__import__("course.learner.lab", fromlist=["lab"]).${call}`;
    return { code: "", silent: true, store_history: false, user_expressions: { answer: expression } };
  }

  /** The value of a function of course.learner.lab in the notebook's kernel. */
  async function ask(panel, call) {
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel) {
      throw new Error("This notebook has no kernel. Start one first.");
    }
    if (kernel.status === "busy") {
      throw new Error(BUSY);
    }
    const reply = await kernel.requestExecute(request(call)).done;
    const answer = reply.content.user_expressions?.answer;
    if (!answer) {
      throw new Error(BUSY); // a cell came between, and was interrupted
    }
    if (answer.status !== "ok") {
      throw new Error(answer.evalue);
    }
    return answer.data["application/json"];
  }

  const about = (cell) => cell.model.getMetadata("minitorch") ?? {};

  let failed; // the check that ran last, unless its answer was right, and the cell that Shift-Enter went on to

  const hintOf = (task) => task?.node.querySelector(".course-hint");

  /** Note what a check said, and show it: below it the next exercise scrolls into view, and its values may be long. */
  function judged(notebook, check) {
    const shown = [...check.outputArea.node.querySelectorAll(".jp-OutputArea-output")];
    const verdict = shown.find((each) => /^\s*[✓✗]/.test(each.textContent));
    const next = notebook.widgets[notebook.widgets.indexOf(check) + 1];
    const isLeft = next && next === notebook.activeCell;
    const isRight = verdict?.textContent.trim().startsWith("✓");
    failed = isLeft && !isRight ? { exercise: about(check).exercise, next } : undefined;
    if (isRight) {
      hintOf(cellOf(notebook, about(check).exercise, "task"))?.remove();
    }
    if (isLeft || check === notebook.activeCell) {
      verdict?.scrollIntoView({ block: "nearest" });
    }
  }

  /** The exercise of the check that has just failed or of the active cell, or the last one above it, or the notebook's
   * first; empty in a lesson. */
  function exerciseAt(panel) {
    if (failed && failed.next === panel.content.activeCell) {
      return failed.exercise;
    }
    const exercises = panel.content.widgets.map((cell) => about(cell).exercise);
    const above = exercises.slice(0, panel.content.activeCellIndex + 1).filter(Boolean);
    return above.pop() ?? exercises.find(Boolean) ?? "";
  }

  /** The cell of an exercise that has a role: task, solution or check. */
  const cellOf = (notebook, exercise, role) =>
    notebook.widgets.find((cell) => about(cell).exercise === exercise && about(cell).role === role);

  /** Tell the kernel what stands in an answer's cell, before this cell or the exercise's check is sent to it. */
  function tellAnswer(notebook, cell, kernel) {
    const { exercise, role } = about(cell);
    const answer = ["solution", "check"].includes(role) && cellOf(notebook, exercise, "solution");
    if (answer) {
      const text = answer.model.sharedModel.getSource();
      kernel?.requestExecute(request(`on_screen(${JSON.stringify(exercise)}, ${JSON.stringify(text)})`));
    }
  }

  /** An exercise's title in its notebook, without marks of Markdown. */
  function titleOf(task) {
    const heading = task.model.sharedModel.getSource().match(/^#+\s*(.+)$/m);
    return heading ? heading[1].replace(/[`*]/g, "") : "";
  }

  /** Show a hint below its task until it is closed or the exercise is solved. It is on the page alone: the notebook
   * stays as it is. */
  async function showHint(panel, exercise, text) {
    const task = cellOf(panel.content, exercise, "task");
    const { markdownParser, sanitizer, latexTypesetter } = panel.content.rendermime;
    hintOf(task)?.remove();
    const box = document.createElement("aside");
    box.className = "course-hint";
    box.setAttribute("role", "status");
    const title = document.createElement("strong");
    title.textContent = titleOf(task) || exercise;
    const close = document.createElement("button");
    close.textContent = "×";
    close.title = "Close this hint";
    close.setAttribute("aria-label", close.title);
    close.addEventListener("click", () => box.remove());
    const body = document.createElement("div");
    body.className = "jp-RenderedHTMLCommon";
    body.innerHTML = sanitizer.sanitize(await markdownParser.render(text));
    box.append(title, close, body);
    task.node.append(box);
    latexTypesetter?.typeset(body);
    box.scrollIntoView({ block: "nearest" });
  }

  function goTo(panel, exercise) {
    const index = panel.content.widgets.indexOf(cellOf(panel.content, exercise, "solution"));
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
        const isHere = exercise && cellOf(panel.content, exercise, "task");
        await (isHere ? showHint(panel, exercise, text) : say(exercise, text));
      },
    },
    next: {
      label: "Next",
      caption: "Go to the first exercise that is not done yet",
      async run(panel, { app, say, suggest }) {
        const { exercise, chapter, text } = await ask(panel, "following()");
        if (!exercise) {
          return say("Next", text);
        }
        const folder = panel.context.path.split("/").slice(0, -2);
        const path = [...folder, "exercises", `${chapter}.ipynb`].join("/");
        const opened = path === panel.context.path ? panel : await app.commands.execute("docmanager:open", { path });
        await opened.context.ready;
        goTo(opened, exercise);
        if (opened !== panel) {
          const lesson = [...folder, "notebooks", `${chapter}.ipynb`].join("/");
          const open = () => app.commands.execute("docmanager:open", { path: lesson });
          suggest(`A lesson comes before these exercises: notebooks/${chapter}.ipynb`, "Open the lesson", open);
        }
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
        const title = titleOf(cellOf(panel.content, exercise, "task")) || exercise;
        if (await confirm(title, "Give this exercise back as it was? A copy of this notebook is kept in my/backups.")) {
          await panel.context.save();
          const trusted = panel.content.widgets.filter((cell) => cell.model.trusted).map((cell) => cell.model.id);
          const notebook = panel.context.path.split("/").pop();
          await ask(panel, `reset(${JSON.stringify(exercise)}, ${JSON.stringify(notebook)})`);
          await panel.context.revert();
          for (const cell of panel.content.widgets) { // another program wrote the file, so Jupyter trusts none of it
            cell.model.trusted ||= trusted.includes(cell.model.id);
          }
          await panel.context.save();
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
    const { INotebookTracker, NotebookActions } = await use("@jupyterlab/notebook");
    const { CommandToolbarButton, Dialog, ICommandPalette, Notification, showDialog, showErrorMessage } =
      await use("@jupyterlab/apputils");
    const ask = (title, body, buttons) => showDialog({ title, body, buttons });
    const say = (title, body) => ask(title, body, [Dialog.okButton()]);
    const confirm = async (title, body) =>
      (await ask(title, body, [Dialog.cancelButton(), Dialog.warnButton({ label: "Reset" })])).button.accept;

    const suggest = (text, label, callback) =>
      Notification.info(text, { actions: [{ label, callback }], autoClose: 20000 });

    return {
      id: `${NAME}:buttons`,
      autoStart: true,
      requires: [INotebookTracker],
      optional: [ICommandPalette],
      activate(app, tracker, palette) {
        const isOurs = (panel) => Boolean(panel?.model?.getMetadata("minitorch"));
        // The box in which a check's long values scroll would cut a single line in two.
        const style = document.createElement("style");
        style.textContent = `
          .jp-mod-outputsScrolled .jp-Cell-outputArea:has(.jp-OutputArea-child) { min-height: 3em; }
          .course-hint { position: relative; margin: 4px 0 4px 80px; padding: 8px 36px 8px 12px;
            border-left: 4px solid var(--jp-info-color1); background: var(--jp-layout-color2); }
          .course-hint button { position: absolute; top: 4px; right: 6px; border: 0; background: none;
            color: var(--jp-ui-font-color1); font-size: 18px; cursor: pointer; }`;
        document.head.append(style);
        NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
          const panel = tracker.find((each) => each.content === notebook);
          if (isOurs(panel)) {
            tellAnswer(notebook, cell, panel.sessionContext.session?.kernel);
          }
        });
        NotebookActions.executed.connect((_, { notebook, cell }) => {
          if (about(cell).role === "check" && isOurs(tracker.find((each) => each.content === notebook))) {
            setTimeout(judged, 100, notebook, cell); // when it is drawn
          }
        });
        document.addEventListener("pointerdown", (event) => event.target.closest?.(".jp-Cell") && (failed = undefined));
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
              run(tracker.currentWidget, { app, say, suggest, confirm }).catch((error) =>
                error.message === BUSY ? say(label, BUSY) : showErrorMessage(label, error),
              ),
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
