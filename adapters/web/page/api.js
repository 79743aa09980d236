// Requests to the gateway. A `Failure` says whether the same thing may be sent again.

export class Failure extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status; // 0: no answer
    this.again = !status || status >= 500 || status === 401;
  }
}

let leaving = false;

function toLogin() {
  if (!leaving) location.assign(`/login?next=${location.pathname}`);
}

async function read(response) {
  if (response.status === 401) toLogin();
  let told = {};
  try {
    told = await response.json();
  } catch {
    // A proxy's page, say: the status is all that is known.
  }
  if (response.ok) return told;
  throw new Failure(told.error || `The gateway answered ${response.status}.`, response.status);
}

async function call(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Failure("No connection to the gateway.");
  }
  return read(response);
}

export const get = (path) => call(path, { headers: { Accept: "application/json" } });

export const post = (path, what) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) });

// Other requests are refused from now on, which must not lead elsewhere than this does.
export async function logOut() {
  leaving = true;
  try {
    await post("/logout", {});
  } catch (failure) {
    if (failure.status !== 401) {
      leaving = false;
      throw failure;
    }
  }
  location.assign("/login");
}

// A browser may show the page as it was left.
window.addEventListener("pageshow", () => leaving && location.reload());

// `fetch` cannot tell how far an upload is.
export function upload(chat, file, progress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("error", () => reject(new Failure("No connection to the gateway.")));
    request.addEventListener("abort", () => reject(new Failure("")));
    request.addEventListener("load", () => {
      const response = new Response(request.responseText, { status: request.status });
      read(response).then(resolve, reject);
    });
  });
  request.open("POST", `/api/chats/${chat}/files?name=${encodeURIComponent(file.name)}`);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(file);
  return { done, cancel: () => request.abort() };
}
