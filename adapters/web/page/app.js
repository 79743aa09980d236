// The page: opens a chat, keeps it live, and hands over what the person does.

import { get, logOut, post } from "./api.js";
import { Asked } from "./asked.js";
import { Composer } from "./composer.js";
import { byId, freshId, make, passed, readableSpan } from "./dom.js";
import { Live } from "./live.js";
import { Log } from "./log.js";
import { Outgoing } from "./outgoing.js";
import { Side } from "./side.js";

const IDEAS = ["/goal Write a haiku about rivers into haiku.txt", "/help", "What can you do here?"];

let chat = "";
let chats = null; // not known yet
let earlier = "";
let activity = { working: false, since: 0, text: "" };
let fetching = 0;
const SAVING = "Saving …";
const SOON_MS = 1_000;
const LONGEST_MS = 10_000;
const SETTLE_MS = 1_500; // so long after a press its message may still be about to change
const HIDDEN_MS = 60_000;
const TOAST_MS = 7_000;

const draft = (of) => `draft:${of}`;
const pathOf = (of) => `/c/${of}`;
const chatOf = (path) => path.slice(pathOf("").length); // the page has no other address

const log = new Log({
  changed: (count) => (byId("welcome").hidden = count > 0),
  press,
  again: () => outgoing.pump(),
  edit: (what) => {
    outgoing.remove(what.id);
    log.drop(what);
    composer.files = what.files ?? [];
    composer.answer(what.reply ?? null);
    composer.set(what.text);
  },
  answer: (what) => composer.answer({ id: what.id, label: what.text.split("\n")[0] }),
});

const outgoing = new Outgoing({
  sending: (message) => log.put(mine(message, { state: "sending" })),
  sent: (of, answer) => {
    if (of === chat) log.put(answer.message);
  },
  failed: (of, message, failure) => {
    if (of === chat) log.put(mine(message, { state: "failed", error: failure.message, again: failure.again }));
  },
});

const composer = new Composer({
  chat: () => chat,
  draft: (text) => sessionStorage.setItem(draft(chat), text),
  send: (text, files, reply) => {
    const message = { id: freshId(), text, files, reply };
    if (text === "/stop") return stop(); // waits behind nothing
    outgoing.add(message);
  },
});

const asked = new Asked({
  press,
  write: (text) => composer.set(text),
  chat: () => chat,
  find: (id) => log.find(id),
  changed: showChats,
});

const side = new Side({ fresh: () => enter(freshId(12)), enter });

const live = new Live({
  up: () => {
    link("");
    outgoing.pump();
    refreshChats();
    asked.stir();
  },
  down: () => link("Reconnecting …"),
  refused: refreshChats, // which leads to the login, where that is the reason
  message: (what) => {
    log.put(what);
    if (what.who === "bot") tell(what);
    if (what.asks) asked.refresh();
  },
  edit: (what) => {
    log.edit(what);
    asked.stir();
  },
  mark: ({ id, mark }) => log.mark(id, mark),
  activity: showActivity,
  chats: () => {
    refreshChats();
    asked.stir();
  },
  remark: link,
  reset: () => load(chat),
});

function mine(message, more) {
  const what = { id: message.id, who: "you", kind: message.text.startsWith("/") ? "command" : "text", text: message.text, html: "", files: message.files, reply: message.reply, ...more };
  const text = make("div", {}, message.text);
  what.html = text.innerHTML; // escaped by the browser itself
  return what;
}

function tell(what) {
  if (what.kind === "notice") return;
  const news = what.asks === "open" ? "A question waits for you" : what.kind === "card" ? "Goal set" : "";
  if (news || !document.hidden) byId("tell").textContent = news;
}

function link(words) {
  byId("link").textContent = words;
}

// Chats

async function enter(to, { push = true } = {}) {
  if (push && location.pathname !== pathOf(to)) history.pushState({}, "", pathOf(to));
  chat = to;
  log.clear();
  asked.clear();
  showActivity({ working: false, since: 0, text: "" });
  composer.files = [];
  composer.reply = null;
  composer.showFiles();
  for (const message of outgoing.enter(to)) log.put(mine(message, { state: "sending" }));
  composer.set(sessionStorage.getItem(draft(to)) ?? "", !composer.touch); // no keyboard unasked
  composer.close();
  showChats();
  await load(to);
}

// What the page needs once.
async function start() {
  for (let pause = SOON_MS; ; pause = Math.min(pause * 2, LONGEST_MS)) {
    try {
      const first = await get("/api/start");
      composer.know(first.commands, first.max_upload);
      chats ??= first.chats;
      return showChats();
    } catch {
      await passed(pause); // what is wrong is told by reading the chat
    }
  }
}

async function load(of) {
  live.close();
  const mineNow = ++fetching;
  for (let pause = SOON_MS; ; pause = Math.min(pause * 2, LONGEST_MS)) {
    try {
      log.reading++;
      const found = await get(`/api/chats/${of}`);
      if (mineNow !== fetching) return;
      log.fill(found.messages);
      showEarlier(found.earlier);
      asked.show(found.questions);
      showActivity(found.activity);
      live.open(of, found.position);
      return;
    } catch (failure) {
      if (mineNow !== fetching) return;
      link(failure.message);
      await passed(pause);
      if (mineNow !== fetching) return;
    }
  }
}

function showEarlier(place) {
  earlier = place;
  byId("earlier").hidden = !place;
}

byId("earlier").addEventListener("click", async () => {
  const of = chat;
  try {
    const found = await get(`/api/chats/${of}?before=${earlier}`);
    if (of !== chat) return;
    log.before(found.messages);
    showEarlier(found.earlier);
  } catch (failure) {
    link(failure.message);
  }
});

let listing = false;
async function refreshChats() {
  if (listing) return;
  listing = true; // changes come in bursts
  setTimeout(async () => {
    listing = false;
    try {
      chats = (await get("/api/chats")).chats;
      showChats();
    } catch {
      // The stream says when the gateway is back, and asks again.
    }
  }, 200);
}

function showChats() {
  if (!chats) return;
  const here = chats.find((each) => each.chat === chat);
  const known = here ? chats : [{ chat, title: "New chat", busy: false, goal: "", waiting: 0 }, ...chats];
  // Of the chat that is open the page itself knows best what waits.
  const all = known.map((each) => (each.chat === chat ? { ...each, waiting: asked.waiting } : each));
  side.show(all, chat);
  const title = here?.title || "New chat";
  byId("title").textContent = title;
  const waiting = all.reduce((sum, each) => sum + each.waiting, 0);
  document.title = `${waiting ? `(${waiting}) ` : ""}${activity.working ? "● " : ""}${title} · Pursuit`;
}

// What the bot does right now

function showActivity(told) {
  const started = told.working && !activity.working;
  const ended = !told.working && activity.working;
  activity = told;
  byId("activity").hidden = !told.working;
  byId("steps").textContent = told.text;
  byId("steps").hidden = !told.text;
  byId("stop").hidden = !told.working;
  if (started) byId("tell").textContent = "Working";
  if (ended) byId("tell").textContent = "Done";
  showElapsed();
  showChats();
}

function showElapsed() {
  if (activity.working) byId("elapsed").textContent = readableSpan(Date.now() / 1000 - activity.since);
}
setInterval(showElapsed, 1000);

// A hidden tab gives its stream up, but its title shall still say that something waits.
setInterval(() => {
  if (!document.hidden) return;
  refreshChats();
  asked.refresh();
}, HIDDEN_MS);

// What the person does

async function press(what, button, row) {
  if (row.dataset.busy) return; // a disabled button would lose the focus
  row.dataset.busy = "yes";
  let rest = 0;
  try {
    const { text } = await post(`/api/chats/${chat}/presses`, { id: freshId(), message: what.id, command: button.command });
    link(text === SAVING ? text : "");
    if (text !== SAVING) toast(text);
    rest = SETTLE_MS;
  } catch (failure) {
    toast(failure.message, "wrong");
  }
  setTimeout(() => delete row.dataset.busy, rest);
}

let toasting = 0;
function toast(words, kind = "") {
  clearTimeout(toasting);
  byId("toast").className = `toast ${kind}`;
  byId("toast").textContent = words;
  toasting = setTimeout(() => (byId("toast").textContent = ""), TOAST_MS);
}

async function stop() {
  const message = { id: freshId(), text: "/stop", files: [] };
  const of = chat;
  log.put(mine(message, { state: "sending" }));
  try {
    const answer = await post(`/api/chats/${of}/messages`, { id: message.id, text: message.text, files: [] });
    if (of === chat) log.put(answer.message);
  } catch (failure) {
    if (of === chat) log.put(mine(message, { state: "failed", error: failure.message, again: false }));
  }
}

byId("stop").addEventListener("click", () => {
  stop();
  byId("text").focus();
});
byId("leave").addEventListener("click", async () => {
  try {
    await logOut();
    live.close();
    sessionStorage.clear();
  } catch (failure) {
    link(failure.message);
  }
});
byId("latest").addEventListener("click", () => log.toEnd());
window.addEventListener("popstate", () => enter(chatOf(location.pathname), { push: false }));
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    composer.set("/");
  }
});

for (const idea of IDEAS) byId("ideas").append(make("button", { type: "button", on: { click: () => composer.set(idea) } }, idea));

// What was typed before there was a script stays, below what the tab kept of an earlier life.
const here = chatOf(location.pathname);
const typed = [sessionStorage.getItem(draft(here)), composer.text.value].filter((text) => text?.trim());
sessionStorage.setItem(draft(here), typed.join("\n"));
enter(here, { push: false });
start();
document.body.dataset.ready = "yes"; // all that is shown works from now on: see the stylesheet
