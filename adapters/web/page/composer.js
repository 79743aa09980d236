// The message box: text, files, and the `/` menu.

import { upload } from "./api.js";
import { byId, make, readableSize } from "./dom.js";

export class Composer {
  constructor(on) {
    this.on = on;
    this.text = byId("text");
    this.options = byId("options");
    this.chips = byId("files");
    this.files = [];
    this.reply = null;
    this.commands = [];
    this.maxUpload = Infinity; // the gateway refuses what is too large
    this.offered = [];
    this.active = 0;
    this.touch = matchMedia("(pointer: coarse)").matches;
    if (this.touch) byId("keys").textContent = "";
    this.listen();
  }

  listen() {
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("blur", () => this.close());
    byId("attach").addEventListener("click", () => byId("pick").click());
    byId("pick").addEventListener("change", () => {
      this.take(byId("pick").files);
      byId("pick").value = "";
    });
    this.text.addEventListener("paste", (event) => {
      if (event.clipboardData?.files.length) {
        event.preventDefault();
        this.take(event.clipboardData.files);
      }
    });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.take(event.dataTransfer?.files ?? []);
    });
  }

  // What the gateway takes.
  know(commands, maxUpload) {
    this.commands = commands;
    this.maxUpload = maxUpload;
    if (document.activeElement === this.text) this.offer();
  }

  set(text, focus = true) {
    this.text.value = text;
    this.changed();
    if (focus) this.text.focus();
    this.text.setSelectionRange(text.length, text.length);
  }

  changed() {
    this.text.style.height = "auto"; // set by script, which the policy allows
    this.text.style.height = `${Math.min(this.text.scrollHeight, innerHeight * 0.4)}px`;
    this.on.draft(this.text.value);
    this.offer();
    this.ready();
  }

  ready() {
    const uploading = this.files.some((file) => !file.id);
    byId("send").disabled = uploading || (!this.text.value.trim() && !this.files.length);
  }

  submit() {
    if (byId("send").disabled) return;
    const files = this.files.map(({ id, name, size, url, image }) => ({ id, name, size, url, image }));
    const { reply } = this;
    const text = this.text.value.trim();
    this.files = [];
    this.reply = null;
    this.showFiles();
    this.text.value = "";
    this.changed();
    this.on.send(text, files, reply);
    this.text.focus();
  }

  key(event) {
    if (event.isComposing) return;
    if (!this.options.hidden && this.menuKey(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !this.touch) {
      event.preventDefault();
      this.submit();
    }
  }

  // The `/` menu

  menuKey(event) {
    const last = this.offered.length - 1;
    switch (event.key) {
      case "ArrowDown":
        this.point(this.active === last ? 0 : this.active + 1);
        return true;
      case "ArrowUp":
        this.point(this.active === 0 ? last : this.active - 1);
        return true;
      case "Tab":
        if (event.shiftKey) return false;
        this.choose(this.active);
        return true;
      case "Enter":
        if (event.shiftKey || this.offered[this.active].line === this.text.value.trim()) return false;
        this.choose(this.active);
        return true;
      case "Escape":
        this.close();
        return true;
      default:
        return false;
    }
  }

  matching(typed) {
    const [, name, word] = /^\/(\w*)(?: (\w*))?$/.exec(typed) ?? [];
    if (name === undefined) return [];
    if (word === undefined) {
      return this.commands
        .filter((command) => command.name.startsWith(name.toLowerCase()))
        .map((command) => ({ line: `/${command.name}`, says: command.summary, more: command.usage.some((usage) => usage.startsWith(`/${command.name} `)) }));
    }
    const command = this.commands.find((each) => each.name === name.toLowerCase());
    return (command?.words ?? [])
      .filter((each) => each.startsWith(word.toLowerCase()) && each !== word)
      .map((each) => ({ line: `/${name} ${each}`, says: command.usage.find((usage) => usage.includes(` ${each}`)) ?? "", more: command.usage.some((usage) => usage.startsWith(`/${name} ${each} `)) }));
  }

  offer() {
    this.offered = this.matching(this.text.value);
    if (!this.offered.length) return this.close();
    this.options.replaceChildren(
      ...this.offered.map((each, index) =>
        make("li", { id: `option-${index}`, role: "option", "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); this.choose(index); } } },
          make("span", { class: "line" }, each.line), make("span", { class: "says" }, each.says)),
      ),
    );
    this.options.hidden = false;
    this.text.setAttribute("aria-expanded", "true");
    this.point(0);
  }

  point(index) {
    this.active = index;
    for (const [n, option] of [...this.options.children].entries()) option.setAttribute("aria-selected", String(n === index));
    this.options.children[index].scrollIntoView({ block: "nearest" });
    this.text.setAttribute("aria-activedescendant", `option-${index}`);
  }

  choose(index) {
    const { line, more } = this.offered[index];
    this.set(more ? `${line} ` : line);
    if (!more) this.close();
  }

  close() {
    this.options.hidden = true;
    this.text.setAttribute("aria-expanded", "false");
    this.text.removeAttribute("aria-activedescendant");
  }

  // The message that the next one answers: `{ id, label }`.
  answer(reply) {
    this.reply = reply;
    this.showFiles();
    this.text.focus();
  }

  // Files

  take(files) {
    for (const file of files) {
      const entry = { name: file.name, size: file.size, share: 0, error: "" };
      this.files.push(entry);
      if (file.size > this.maxUpload) {
        entry.error = `is larger than ${readableSize(this.maxUpload)}`;
        continue;
      }
      const { done, cancel } = upload(this.on.chat(), file, (share) => {
        entry.share = share;
        this.showFiles();
      });
      entry.cancel = cancel;
      done.then((kept) => Object.assign(entry, kept, { url: `/files/${kept.id}/${encodeURIComponent(kept.name)}` }), (failure) => (entry.error = failure.message)).finally(() => this.showFiles());
    }
    this.showFiles();
    this.text.focus();
  }

  showFiles() {
    this.chips.hidden = !this.files.length && !this.reply;
    this.chips.replaceChildren(
      ...(this.reply ? [this.replying()] : []),
      ...this.files.map((file) =>
        make("li", { class: file.error ? "chip wrong" : "chip" },
          make("span", { class: "file-name" }, file.name),
          make("span", { class: "file-size", role: file.error ? "alert" : null }, file.error || (file.id ? readableSize(file.size) : `${Math.round(file.share * 100)} %`)),
          make("button", { type: "button", class: "remove", "aria-label": `Remove ${file.name}`, on: { click: () => this.remove(file) } }, "×"),
        ),
      ),
    );
    this.ready();
  }

  replying() {
    return make("li", { class: "chip replying" },
      make("span", { class: "file-name" }, `Answer to ${this.reply.label}`),
      make("button", { type: "button", class: "remove", "aria-label": "This is no answer", on: { click: () => this.answer(null) } }, "×"),
    );
  }

  remove(file) {
    file.cancel?.();
    this.files = this.files.filter((each) => each !== file);
    this.showFiles();
    this.text.focus();
  }
}
