// Requests to the gateway. A `Failure` says whether the same thing may be sent again.

export class Failure extends Error {
  constructor(message, again) {
    super(message);
    this.again = again;
  }
}

function toLogin() {
  const next = location.pathname === "/" ? "" : `?next=${location.pathname}`;
  location.assign(`/login${next}`);
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
  throw new Failure(told.error || `The gateway answered ${response.status}.`, response.status >= 500 || response.status === 401);
}

async function call(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Failure("No connection to the gateway.", true);
  }
  return read(response);
}

export const get = (path) => call(path, { headers: { Accept: "application/json" } });

export const post = (path, what) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) });

// `fetch` cannot tell how far an upload is.
export function upload(chat, file, progress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("error", () => reject(new Failure("No connection to the gateway.", true)));
    request.addEventListener("abort", () => reject(new Failure("", false)));
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
