// The page of lessons: the list, one lesson or the game at a time as the address names it, and files of a teacher's own.
(function () {
  "use strict";

  const DONE_KEY = "refusion.lessons";
  const MAX_FILE_MB = 20;
  const chinese = navigator.language.toLowerCase().startsWith("zh");
  const lang = chinese ? "zh" : "en";
  let server, page, message, bar, body, shown = null, turn = 0;

  /** A text of the page with its values. */
  function word(key, values = {}) {
    return page.words[key][chinese ? 1 : 0].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  /** An address on this page: Gradio's base makes a bare "#" lead to the first page. */
  const here = (hash) => `${location.pathname}${location.search}#${hash}`;
  const lessonAt = (id) => here(new URLSearchParams({ lesson: id }));

  function tell(text) {
    message.hidden = !text;
    message.textContent = text;
  }

  function create(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  }

  /** Ids of the lessons that were finished in this browser; without storage none is remembered. */
  function finished() {
    try {
      const ids = JSON.parse(localStorage.getItem(DONE_KEY));
      return Array.isArray(ids) ? ids : [];
    } catch {
      return [];
    }
  }

  function remember(id) {
    try {
      localStorage.setItem(DONE_KEY, JSON.stringify([...new Set([...finished(), id])]));
    } catch {
      // Storage may be off or full; the lesson is finished all the same.
    }
  }

  /** Takes what is shown away. @returns {HTMLElement} where the next may be mounted */
  function clear(view) {
    shown?.destroy();
    shown = null;
    bar.replaceChildren();
    body.replaceChildren();
    body.dataset.view = view;
    document.body.classList.toggle("refusion-lesson-open", view !== "list");
    return body.appendChild(create("div", ""));
  }

  function backLink() {
    const link = create("a", "", word("all"));
    link.href = here("lessons");
    link.addEventListener("click", () => showList()); // the address may already be this one
    return link;
  }

  function loadButton() {
    const button = create("button", "refusion-lesson-load", word("load"));
    button.type = "button";
    button.addEventListener("click", openFile);
    return button;
  }

  function showList() {
    turn += 1;
    tell("");
    const place = clear("list");
    const done = finished();
    const cards = page.lessons.map((lesson, n) => card(
      lessonAt(lesson.id), n + 1, lesson.title[lang], lesson.summary[lang],
      [word("steps", { n: lesson.steps }), ...(done.includes(lesson.id) ? [word("done")] : [])], done.includes(lesson.id)));
    const game = card(here("predict"), cards.length + 1, word("predict"), word("predict_about"), [], false);
    const list = create("ol", "refusion-lesson-list", ...cards, game);
    list.setAttribute("aria-label", word("list"));
    place.replaceWith(list);
    bar.append(loadButton());
  }

  function card(href, number, title, about, notes, done) {
    const link = create("a", "", create("span", "refusion-lesson-number", done ? "✓" : String(number)), create("strong", "", title));
    link.href = href;
    const item = create("li", "", link, create("p", "", about), create("small", "", notes.join(" · ")));
    item.classList.toggle("is-done", done);
    return item;
  }

  /** @param {object} lesson as the server prepared it */
  function showTour(lesson) {
    const place = clear("tour");
    bar.append(backLink(), loadButton());
    shown = window.RefusionPlayer.tour(place, {
      lesson, lang, linkOf: () => ({ lesson: lesson.id }),
      onDone: (id) => {
        remember(id);
        offerNext(id);
      },
    });
    focusTitle(place);
  }

  /** After a lesson of the list, a link to what follows it. */
  function offerNext(id) {
    const at = page.lessons.findIndex((lesson) => lesson.id === id);
    if (at < 0 || bar.querySelector(".refusion-lesson-next")) return;
    const next = page.lessons[at + 1];
    const text = next ? word("next", { title: next.title[lang] }) : word("then", { title: word("predict") });
    const link = create("a", "refusion-lesson-next", text);
    link.href = next ? lessonAt(next.id) : here("predict");
    bar.insertBefore(link, bar.lastChild);
  }

  /** Who follows a link by keyboard or ear goes on at what it opened. */
  function focusTitle(place) {
    const title = place.querySelector(".rfp-tour-title");
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }

  async function showPredict(wanted) {
    const mine = ++turn;
    const name = wanted || Object.keys(page.examples)[0];
    const { text, error } = await server.example(name);
    if (mine !== turn) return;
    if (error) {
      if (!body.dataset.view) showList();
      tell(error);
      return;
    }
    tell("");
    const place = clear("predict");
    const select = create("select", "", ...Object.entries(page.examples).map(([id, title]) => new Option(title[lang], id)));
    select.value = name;
    select.addEventListener("change", () => {
      location.hash = new URLSearchParams({ predict: select.value });
    });
    bar.append(backLink(), create("label", "", create("span", "", word("example")), select));
    shown = window.RefusionPlayer.predict(place, { lang });
    shown.load(text, { label: page.examples[name][lang] });
    focusTitle(place);
  }

  async function showLesson(name) {
    const mine = ++turn;
    const { tour, error } = await server.lesson(name);
    if (mine !== turn) return;
    if (error) {
      showList();
      tell(word("unknown", { name }));
      return;
    }
    tell("");
    showTour(tour);
  }

  function openFile() {
    const input = create("input", "refusion-file");
    input.type = "file";
    input.accept = ".json";
    input.hidden = true;
    input.onchange = async () => {
      const file = input.files[0];
      input.remove();
      if (file) await showFile(file);
    };
    document.body.append(input);
    input.click();
  }

  /** Opens a lesson file; what is wrong with it is said, and what was shown stays. */
  async function showFile(file) {
    const megabytes = file.size / 2 ** 20;
    if (megabytes > MAX_FILE_MB) {
      tell(word("large", { file: file.name, n: megabytes.toFixed(0) }));
      return;
    }
    const mine = ++turn;
    try {
      const { tour, error } = await server.read([await file.text(), file.name]);
      if (mine !== turn) return;
      tell(error ?? "");
      if (tour) showTour(tour);
    } catch {
      tell(word("silent"));
    }
  }

  /** Shows what the address names. */
  async function route() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    try {
      if (wanted.has("lesson")) await showLesson(wanted.get("lesson"));
      else if (wanted.has("predict")) await showPredict(wanted.get("predict"));
      else showList();
    } catch {
      if (!body.dataset.view) showList();
      tell(word("silent"));
    }
  }

  function mount(element, serverFunctions, data) {
    server = serverFunctions;
    page = data;
    message = element.querySelector(".refusion-message");
    bar = create("div", "refusion-lesson-bar");
    body = create("div", "");
    element.querySelector(".refusion-lessons").replaceChildren(bar, body);
    window.refusionLessons = { get shown() { return shown; } };
    window.addEventListener("hashchange", route);
    route();
  }

  window.RefusionLessons = { mount };
})();
