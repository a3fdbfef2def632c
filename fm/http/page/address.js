// address: the view, what it is of and how it is filtered and coloured stand in the address behind '#', so that a link shows what its
// sender saw, and the back button undoes a choice.
const cut = () => location.hash.replace(/^#\/?/, "").split("?");
const decoded = part => { try { return decodeURIComponent(part); } catch { return part; } };

export const place = () => cut()[0].split("/").map(decoded);
export const choices = () => new URLSearchParams(cut().slice(1).join("?"));
export const choice = key => choices().get(key) ?? "";

// The address of the same view with another choice; "" takes it out.
export function chosen(key, value) {
  const all = choices();
  value === "" ? all.delete(key) : all.set(key, value);
  const text = all.toString().replaceAll("+", "%20");
  return "#/" + cut()[0] + (text ? "?" + text : "");
}

// Takes a choice into the address. What is being typed is one step back, not one for each letter.
export function choose(key, value, typing = false) {
  const next = chosen(key, value);
  if (next === location.hash || next === "#/" && !location.hash) return;
  typing && choice(key) && value ? history.replaceState(null, "", next) : history.pushState(null, "", next);
}
