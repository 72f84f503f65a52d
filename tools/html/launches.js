// The keys of `rubia diff --html`.
const launches = [...document.querySelectorAll("details")];
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "a") {
    const open = launches.some(launch => !launch.open);
    for (const launch of launches) launch.open = open;
  }
  if (event.key !== "n" && event.key !== "p") return;
  const bad = launches.filter(launch => !launch.querySelector("summary > .good"));
  const at = bad.findIndex(launch => launch.contains(document.activeElement));
  const next = bad[event.key === "n" ? at + 1 : at < 0 ? bad.length - 1 : at - 1];
  if (next) next.querySelector("summary").focus();
});
let closed = [];
addEventListener("beforeprint", () => { closed = launches.filter(launch => !launch.open); for (const launch of closed) launch.open = true; });
addEventListener("afterprint", () => { for (const launch of closed) launch.open = false; });
