// The running goal in one line, while its card is out of sight: over the conversation, so that
// nothing below it moves.

import { byId, make } from "./dom.js";

export class Pin {
  constructor(on) {
    this.on = on;
    this.bar = byId("pin");
    this.seen = new IntersectionObserver((entries) => this.show(!entries.at(-1).isIntersecting), { root: byId("scroll"), threshold: 0.15 });
  }

  // `item` is the newest card with buttons, null for none.
  watch(item) {
    const element = item?.element ?? null;
    if (element === this.element) return;
    if (this.element) this.seen.unobserve(this.element);
    this.element = element;
    if (element === null) return this.show(false);
    this.draw(item.what);
    this.seen.observe(element);
  }

  draw(what) {
    const { card } = what;
    const buttons = what.buttons.map((button) => {
      const act = () => this.on.press(what, button, this.bar.lastElementChild);
      return make("button", { type: "button", tabindex: "-1", on: { click: act } }, button.label);
    });
    this.bar.className = `pin ${card.status}`;
    this.bar.replaceChildren(
      make("span", { class: "badge" }, `${card.used}/${card.most}`),
      make("button", { type: "button", class: "pin-goal", tabindex: "-1", title: "Show the goal", on: { click: () => this.element.scrollIntoView({ block: "center" }) } }, card.goal),
      make("div", { class: "buttons" }, ...buttons),
    );
  }

  show(shown) {
    this.bar.hidden = !shown;
  }
}
