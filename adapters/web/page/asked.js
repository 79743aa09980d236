// The chat's questions to people: what waits, with its buttons, and what became of the others.

import { get } from "./api.js";
import { byId, make } from "./dom.js";

const BURST_MS = 200; // changes come in bursts
const SOON_MS = 1_000;
const LONGEST_MS = 10_000;

function moment(seconds) {
  const when = new Date(seconds * 1000);
  const today = when.toDateString() === new Date().toDateString();
  const clock = { hour: "2-digit", minute: "2-digit" };
  const words = today ? when.toLocaleTimeString([], clock) : when.toLocaleString([], { month: "short", day: "numeric", ...clock });
  return make("time", { datetime: when.toISOString(), title: when.toLocaleString() }, words);
}

export class Asked {
  // `on.chat()` is the one that is open, `on.find(id)` a message's element on the page.
  constructor(on) {
    this.on = on;
    this.panel = byId("asked");
    this.toggle = byId("asked-toggle");
    this.list = byId("asked-list");
    this.questions = [];
    this.unfolded = new Set();
    this.timer = 0;
    this.reading = 0;
    this.pause = SOON_MS;
    this.toggle.addEventListener("click", () => this.set(this.panel.hidden));
    this.panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.set(false);
      this.toggle.focus();
    });
  }

  get waiting() {
    return this.questions.filter((question) => question.waits).length;
  }

  clear() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.reading++; // what is still being read is of another chat
    this.unfolded.clear();
    this.show([]);
    this.set(false);
  }

  set(open) {
    this.panel.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (open) this.refresh();
  }

  // Something has changed in the chat, which may be news for the list.
  stir() {
    if (this.waiting || !this.panel.hidden) this.refresh();
  }

  refresh(pause = BURST_MS) {
    this.timer ||= setTimeout(() => this.read(), pause);
  }

  async read() {
    this.timer = 0;
    const mine = ++this.reading;
    try {
      const { questions } = await get(`/api/chats/${this.on.chat()}/questions`);
      if (mine === this.reading) this.show(questions);
    } catch {
      // The stream says when the gateway is back, and then it is read again.
    }
  }

  show(questions) {
    // A card is on its way: how it stands changes soon, and no event says so.
    const coming = questions.some((question) => question.waits && !question.shown);
    this.pause = coming ? Math.min(this.pause * 2, LONGEST_MS) : SOON_MS;
    if (coming) this.refresh(this.pause);
    if (JSON.stringify(questions) === JSON.stringify(this.questions)) return;
    this.questions = questions;
    const { waiting } = this;
    this.toggle.hidden = !questions.length;
    this.toggle.classList.toggle("waits", waiting > 0);
    const words = waiting ? `${waiting} ${waiting === 1 ? "waits" : "wait"} for you` : "Questions";
    this.toggle.replaceChildren(...(waiting ? [make("span", { class: "dot asks", "aria-hidden": "true" })] : []), words);
    if (!questions.length) this.set(false);
    this.draw([...questions].sort((one, other) => other.waits - one.waits));
    this.on.changed();
  }

  // What is drawn anew under a person's focus keeps it.
  draw(questions) {
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    this.list.replaceChildren(...questions.map((question) => this.entry(question)));
    if (focused === undefined) return;
    const same = [...this.list.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focused);
    (same ?? this.toggle).focus();
  }

  entry(question) {
    const stands = make("span", { class: "asked-stands" }, question.stands);
    if (question.waits && question.shown) stands.append(" until ", moment(question.until));
    return make("li", { class: question.waits ? "asked-one waits" : "asked-one", "data-id": question.id },
      make("p", { class: "asked-head" }, make("span", { class: "badge" }, question.id), make("span", { class: "asked-text" }, question.text)),
      make("p", { class: "asked-how" }, stands, question.waits ? make("span", {}, "By command: ", make("code", {}, question.how)) : null),
      this.buttons(question),
      this.trail(question),
    );
  }

  buttons(question) {
    const row = make("div", { class: "buttons", role: "group", "aria-label": `${question.id}: answers` });
    const add = (label, key, act) => row.append(make("button", { type: "button", "data-key": `${question.id} ${key}`, on: { click: act } }, label));
    const what = { id: question.messages[0] ?? "" };
    for (const button of question.buttons) add(button.label, button.command, () => this.on.press(what, button, row));
    if (question.waits && !question.buttons.length) add("Write an answer", "write", () => this.on.write(`/answer ${question.id} `));
    if (question.messages.some((id) => this.on.find(id))) {
      add("Show the card", "show", () => {
        const card = question.messages.map((id) => this.on.find(id)).find(Boolean);
        if (!card) return;
        card.tabIndex = -1;
        card.scrollIntoView({ block: "center" });
        card.focus();
      });
      row.lastElementChild.classList.add("plain-button");
    }
    return row.childElementCount ? row : null;
  }

  trail(question) {
    if (!question.trail.length) return null;
    const lines = question.trail.map(({ at, what, who, detail }) =>
      make("li", {}, moment(at), make("span", {}, what, who ? ` by ${who}` : "", detail ? `: ${detail}` : "")),
    );
    const fold = make("details", { class: "trail", open: this.unfolded.has(question.id) },
      make("summary", { "data-key": `${question.id} trail` }, "What happened"),
      make("ol", {}, ...lines),
    );
    fold.addEventListener("toggle", () => this.unfolded[fold.open ? "add" : "delete"](question.id));
    return fold;
  }
}
