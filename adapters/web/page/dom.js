// Makes elements. What people, models or file names say is only ever set as text; the one way
// in for HTML is `rendered`, for what the server has sanitised.

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("pursuit", { createHTML: (html) => html })
  : { createHTML: (html) => html };

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

export function rendered(html, className) {
  const element = make("div", { class: className });
  element.innerHTML = policy.createHTML(html);
  return element;
}

export const byId = (id) => document.getElementById(id);

// `crypto.randomUUID` is missing where a page came by plain HTTP from another machine.
export function freshId(length = 20) {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (n) => letters[n % 36]).join("");
}

export const passed = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function readableSize(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

export function readableSpan(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, "0")}s`;
  return `${Math.floor(whole / 3600)}h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")}m`;
}
