// The conversation on the page: each message once, by its id, in the order of its time.

import { byId, make, readableSize, rendered } from "./dom.js";
import { Pin } from "./pin.js";

const NEAR = 90;

function fileCard(file) {
  if (file === null) return make("p", { class: "gone" }, "This file is not there any more.");
  const link = make("a", { class: "file", href: file.url, download: file.name });
  if (file.image) {
    link.classList.add("picture");
    link.append(make("img", { src: file.url, alt: file.name, loading: "lazy" }));
  }
  link.append(
    make("span", { class: "file-name" }, file.name),
    make("span", { class: "file-size" }, readableSize(file.size)),
  );
  return link;
}

function copyButton(label, text) {
  const button = make("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

function answer(what) {
  const body = rendered(what.html, "prose");
  for (const block of body.querySelectorAll("pre")) {
    const names = [...(block.firstElementChild?.classList ?? [])];
    const language = names.find((name) => name.startsWith("language-"))?.slice(9) ?? "";
    const frame = make("div", { class: language ? "code" : "code bare" });
    block.replaceWith(frame);
    block.tabIndex = 0;
    frame.append(
      make("div", { class: "code-top" }, make("span", {}, language), copyButton("Copy", () => block.textContent)),
      block,
    );
  }
  for (const table of body.querySelectorAll("table")) {
    const frame = make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  return body;
}

function goalCard(card) {
  const state = make("div", { class: "goal-state" },
    make("span", { class: "badge" }, card.status),
    make("span", {}, `${card.used} of ${card.most} turns`),
    card.spent ? make("span", { class: "spent" }, card.spent) : null,
  );
  const bar = make("progress", { max: card.most, value: card.used, "aria-label": "Turns used" });
  return make("div", { class: `goal ${card.status}`, "aria-live": "off" },
    make("p", { class: "goal-text" }, card.goal),
    bar,
    state,
    card.verdict ? make("p", { class: "verdict" }, make("b", {}, "Last verdict: "), card.verdict) : null,
  );
}

export class Log {
  constructor(on) {
    this.on = on;
    this.list = byId("log");
    this.scroll = byId("scroll");
    this.items = new Map();
    this.newest = 0;
    this.reading = 0; // counts up with every reading of a chat
    this.pin = new Pin(on);
    this.top = 0;
    this.scroll.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.stuck && this.toEnd()).observe(this.scroll.firstElementChild);
    new ResizeObserver(() => this.stuck && this.toEnd()).observe(this.scroll);
    this.stuck = true;
  }

  clear() {
    this.items.clear();
    this.newest = 0;
    this.list.replaceChildren();
    this.pin.watch(null);
    this.stuck = true;
  }

  // A whole page of messages. What is not among them stays, if it is on its way, or came while
  // they were read.
  fill(messages) {
    this.list.setAttribute("aria-busy", "true");
    const stays = [...this.items.values()].filter((item) => item.what.state || item.reading === this.reading);
    this.clear();
    for (const what of messages) this.put(what);
    for (const { what } of stays) if (!this.has(what)) this.put(what);
    this.list.removeAttribute("aria-busy");
    this.on.changed(this.items.size);
    this.toEnd();
  }

  before(messages) {
    const height = this.scroll.scrollHeight - this.scroll.scrollTop;
    this.stuck = false;
    for (const what of messages) this.put(what);
    this.scroll.scrollTop = this.scroll.scrollHeight - height;
  }

  has(what) {
    return this.items.has(key(what));
  }

  find(id) {
    return this.items.get(`bot:${id}`)?.element ?? null;
  }

  // A question stays one when it is edited: without buttons it is decided.
  edit(what) {
    const old = this.items.get(key(what));
    if (!old) return;
    const asks = what.asks || (old.what.asks && (what.buttons?.length ? "open" : "decided"));
    this.put({ ...what, asks });
  }

  put(what) {
    const old = this.items.get(key(what));
    const at = this.place(what, old);
    const item = { what: { ...what, at }, element: this.element({ ...what, at }), reading: this.reading };
    this.items.set(key(what), item);
    if (old?.what.at !== at) {
      old?.element.remove();
      this.insert(item);
    } else if (!this.refocus(old.element, item.element)) {
      old.element.replaceWith(item.element);
    }
    if (what.kind === "card") this.watch();
    this.on.changed(this.items.size);
    if (this.stuck || what.state === "sending") this.toEnd();
    else this.showJump();
  }

  // By when it was said, which an edit does not change; what is on its way stands below all else.
  place(what, old) {
    if (what.state === "sending" || what.again) return Infinity;
    const at = old && !old.what.state ? old.what.at : (what.state ? 0 : what.at) || this.newest + 0.001;
    this.newest = Math.max(this.newest, at);
    return at;
  }

  // The newest card that can still be steered stands for the goal.
  watch() {
    const cards = [...this.items.values()].filter(({ what }) => what.kind === "card" && what.buttons.length);
    this.pin.watch(cards.reduce((newest, item) => (newest && newest.what.at > item.what.at ? newest : item), null));
  }

  // A card that is edited under a person's focus keeps it, also where its buttons go.
  refocus(old, fresh) {
    const focused = old.contains(document.activeElement) ? document.activeElement.dataset.command : undefined;
    if (focused === undefined) return false;
    old.replaceWith(fresh);
    const same = [...fresh.querySelectorAll("button")].find((button) => button.dataset.command === focused);
    if (!same) fresh.tabIndex = -1;
    (same ?? fresh).focus();
    return true;
  }

  insert(item) {
    let after = this.list.lastElementChild;
    while (after && Number(after.dataset.at) > item.what.at) after = after.previousElementSibling;
    if (after) after.after(item.element);
    else this.list.prepend(item.element);
  }

  mark(id, mark) {
    const item = this.items.get(`you:${id}`);
    if (item && !item.what.state) this.put({ ...item.what, mark, behind: 0 });
  }

  drop(what) {
    this.items.get(key(what))?.element.remove();
    this.items.delete(key(what));
    this.on.changed(this.items.size);
  }

  element(what) {
    const body = make("div", { class: "body" });
    const stale = what.kind === "card" && !what.buttons?.length && what.card.status === "active";
    const kind = stale ? "notice" : what.kind;
    if (kind === "card") body.append(goalCard(what.card));
    else if (kind === "answer") body.append(answer(what));
    else if (what.html) body.append(rendered(what.html, "plain"));
    for (const file of what.files ?? []) body.append(fileCard(file));
    if (kind === "file") body.append(fileCard(what.file));
    if (what.buttons?.length) body.append(this.buttons(what));
    const item = make("li", { class: `message ${what.who} ${kind}${what.asks ? ` asks ${what.asks}` : ""}`, "data-id": what.id, "data-at": what.at, "data-state": what.state || null }, body);
    item.append(this.foot(what));
    return item;
  }

  buttons(what) {
    const row = make("div", { class: "buttons" });
    for (const button of what.buttons) {
      const act = () => this.on.press(what, button, row);
      row.append(make("button", { type: "button", "data-command": button.command, on: { click: act } }, button.label));
    }
    return row;
  }

  foot(what) {
    const time = new Date(what.at * 1000);
    const foot = make("div", { class: "meta" });
    if (what.state === "failed") {
      foot.classList.add("failed");
      foot.append(make("span", { role: "alert" }, what.error));
      if (what.again) foot.append(make("button", { type: "button", on: { click: () => this.on.again() } }, "Try again"));
      foot.append(make("button", { type: "button", on: { click: () => this.on.edit(what) } }, "Edit"));
      return foot;
    }
    const states = { working: "in work", failed: "ended without an answer" };
    const note = what.state === "sending" ? "sending …" : what.behind ? `waits behind ${what.behind}` : states[what.mark];
    if (note) foot.append(make("span", { class: "note" }, note));
    if (!what.state) foot.append(make("time", { datetime: time.toISOString(), title: time.toLocaleString() }, time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
    if (what.asks === "open") foot.append(make("button", { type: "button", on: { click: () => this.on.answer(what) } }, "Answer in words"));
    if (what.kind === "answer") foot.append(copyButton("Copy", () => what.text));
    return foot;
  }

  toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    this.top = this.scroll.scrollTop;
    this.stuck = true;
    this.showJump();
  }

  // Only a person scrolls up; that more has come below is no reason to stay behind.
  scrolled() {
    const rest = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight;
    if (rest < NEAR) this.stuck = true;
    else if (this.scroll.scrollTop < this.top - 2) this.stuck = false;
    this.top = this.scroll.scrollTop;
    this.showJump();
  }

  showJump() {
    byId("latest").hidden = this.stuck;
  }
}

export const key = (what) => `${what.who}:${what.id}`;
