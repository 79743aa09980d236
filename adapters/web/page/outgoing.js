// What a person sends, in order and once: a message keeps its id however often it is tried, and
// stays in this tab until the gateway has it.

import { post } from "./api.js";

const LONGEST_MS = 20_000;

const shelf = (chat) => `unsent:${chat}`;

export class Outgoing {
  constructor(on) {
    this.on = on;
    this.waiting = [];
    this.busy = false;
    this.pause = 1_000;
    this.timer = 0;
  }

  // What an earlier life of this tab could not send.
  enter(chat) {
    this.chat = chat;
    this.waiting = JSON.parse(sessionStorage.getItem(shelf(chat)) ?? "[]");
    return this.waiting;
  }

  keep() {
    sessionStorage.setItem(shelf(this.chat), JSON.stringify(this.waiting));
  }

  add(message) {
    this.waiting.push(message);
    this.keep();
    this.on.sending(message); // also one that has to wait for another
    this.pump();
  }

  remove(id) {
    this.waiting = this.waiting.filter((message) => message.id !== id);
    this.keep();
  }

  async pump() {
    clearTimeout(this.timer);
    if (this.busy) return;
    this.busy = true;
    const chat = this.chat;
    try {
      while (this.chat === chat && this.waiting.length && (await this.attempt(chat, this.waiting[0])));
    } finally {
      this.busy = false;
    }
    if (this.chat !== chat) this.pump();
  }

  // Whether the next one may go.
  async attempt(chat, message) {
    this.on.sending(message);
    try {
      const answer = await post(`/api/chats/${chat}/messages`, { id: message.id, text: message.text, files: message.files.map((file) => file.id), reply: message.reply?.id ?? "" });
      if (this.chat !== chat) this.forget(chat, message.id);
      else this.remove(message.id);
      this.pause = 1_000;
      this.on.sent(chat, answer);
      return true;
    } catch (failure) {
      if (!failure.again && this.chat === chat) this.remove(message.id);
      this.on.failed(chat, message, failure);
      if (!failure.again) return true;
      this.timer = setTimeout(() => this.pump(), this.pause);
      this.pause = Math.min(this.pause * 2, LONGEST_MS);
      return false;
    }
  }

  forget(chat, id) {
    const left = JSON.parse(sessionStorage.getItem(shelf(chat)) ?? "[]").filter((message) => message.id !== id);
    sessionStorage.setItem(shelf(chat), JSON.stringify(left));
  }
}
