// The list of chats, and on a narrow screen the drawer that it is in.

import { byId, make } from "./dom.js";

const GOALS = { active: "goal at work", paused: "goal paused", blocked: "goal blocked" };

export class Side {
  constructor(on) {
    this.on = on;
    this.side = byId("side");
    this.list = byId("chats");
    this.narrow = matchMedia("(max-width: 760px)");
    this.narrow.addEventListener("change", () => this.settle());
    byId("menu").addEventListener("click", () => this.open());
    byId("shade").addEventListener("click", () => this.close());
    byId("new").addEventListener("click", () => {
      this.on.fresh();
      this.close();
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.isOpen && this.close());
    this.settle();
    this.theme();
  }

  get isOpen() {
    return this.side.classList.contains("open");
  }

  settle() {
    if (!this.narrow.matches) this.side.classList.remove("open");
    this.side.inert = this.narrow.matches && !this.isOpen;
    byId("shade").hidden = !this.isOpen;
    byId("menu").setAttribute("aria-expanded", String(this.isOpen));
  }

  open() {
    this.side.classList.add("open");
    this.settle();
    byId("new").focus();
  }

  close() {
    if (!this.isOpen) return;
    this.side.classList.remove("open");
    this.settle();
    byId("menu").focus();
  }

  show(chats, current) {
    const focused = this.list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    this.list.replaceChildren(
      ...chats.map((chat) => {
        const link = make("a", { href: `/c/${chat.chat}`, "aria-current": chat.chat === current ? "page" : null },
          make("span", { class: "chat-title" }, chat.title || "New chat"),
          chat.waiting ? make("span", { class: "dot asks", role: "img", "aria-label": "waits for you" }) : null,
          chat.busy || GOALS[chat.goal] ? make("span", { class: `dot ${chat.busy ? "busy" : chat.goal}`, role: "img", "aria-label": chat.busy ? "working" : GOALS[chat.goal] }) : null,
        );
        link.addEventListener("click", (event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
          event.preventDefault();
          this.on.enter(chat.chat);
          this.close();
        });
        return make("li", {}, link);
      }),
    );
    if (focused) [...this.list.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  }

  theme() {
    const button = byId("theme");
    const root = document.documentElement;
    const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const label = () => (button.textContent = dark() ? "Light theme" : "Dark theme");
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      localStorage.setItem("theme", root.dataset.theme);
      label();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
    label();
  }
}
