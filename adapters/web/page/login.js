// A browser that came by a link from another site did not send its cookie with that first
// request. Ask once more from here: whoever is logged in is sent on, and needs no token.
const response = await fetch("/login", { redirect: "manual" });
if (response.type === "opaqueredirect") {
  location.replace(document.querySelector("input[name=next]").value);
}
