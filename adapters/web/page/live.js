// The live stream of one chat. The browser comes back by itself after a break and names the last
// event it saw; what it cannot do by itself is come back after a refusal, or rest when hidden.

const HIDDEN_MS = 30_000; // a browser opens six connections to a server: hidden tabs give theirs up
const LONGEST_MS = 10_000;

export class Live {
  constructor(on) {
    this.on = on;
    this.source = null;
    this.position = "";
    this.pause = 1_000;
    this.timer = 0;
    document.addEventListener("visibilitychange", () => this.rest());
    window.addEventListener("online", () => this.chat && this.connect());
  }

  open(chat, position) {
    this.chat = chat;
    this.position = position;
    this.connect();
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  rest() {
    clearTimeout(this.timer);
    if (document.hidden) this.timer = setTimeout(() => this.close(), HIDDEN_MS);
    else if (this.chat && this.source === null) this.connect();
  }

  connect() {
    this.close();
    const source = new EventSource(`/api/chats/${this.chat}/events?after=${encodeURIComponent(this.position)}`);
    this.source = source;
    source.addEventListener("open", () => {
      this.pause = 1_000;
      this.on.up();
    });
    source.addEventListener("error", () => {
      this.on.down();
      if (source.readyState !== EventSource.CLOSED) return;
      this.on.refused();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(this.pause * 2, LONGEST_MS);
    });
    const take = (name, act) =>
      source.addEventListener(name, (event) => {
        if (this.source !== source) return;
        if (event.lastEventId) this.position = event.lastEventId;
        act(JSON.parse(event.data));
      });
    take("message", (what) => this.on.message(what));
    take("edit", (what) => this.on.edit(what));
    take("mark", (what) => this.on.mark(what));
    take("activity", (what) => this.on.activity(what));
    take("remark", ({ text }) => this.on.remark(text));
    take("chats", () => this.on.chats());
    take("reset", () => this.on.reset());
  }
}
