// SPDX-License-Identifier: Apache-2.0
// What every page of `rubia diff --html` has: its style and what the keyboard and the pointer do.
#pragma once

namespace rubia::tools {

inline constexpr const char *kPageHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>rubia diff</title><style>
:root { color-scheme: light dark; --bad: #b3261e; --open: #8a5a00; --good: #1b6e3c; --line: #8886; --bar: #3f6fb5; --mark: #ffe08a; --chosen: #d1432f; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --open: #ffc266; --good: #7ddc9a; --bar: #8fb4f0; --mark: #5c4a12; --chosen: #ffd166; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem; border-bottom: 1px solid var(--line); text-align: left; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; } code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; } pre { white-space: pre-wrap; }
.bad { color: var(--bad); } .open { color: var(--open); } .good { color: var(--good); }
svg { display: block; max-width: 100%; } figure { margin: .6rem 0; } figcaption, .keys { font-size: .9em; }
figure:focus-visible, summary:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
rect.chosen { stroke: var(--chosen); stroke-width: 2; opacity: 1; }
output { display: block; min-height: 1.5em; font-size: .9em; }
.code { display: grid; grid-template-columns: max-content 1fr; border: 1px solid var(--line); border-radius: .3rem; margin: .5rem 0; overflow-x: auto; }
.code > b { grid-column: 1 / -1; font-size: .9em; padding: .1rem .6rem; border-bottom: 1px solid var(--line); }
.code > span { padding: 0 .6rem; white-space: pre; font: .85em/1.45 ui-monospace, monospace; } .code > span:nth-child(even) { opacity: .6; text-align: right; }
.code > .marked { background: var(--mark); opacity: 1 !important; }
@media print {
  body { margin: 0; max-width: none; font-size: 12px; } .keys, output:empty { display: none; } figure, .code { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; display: block; } * { print-color-adjust: exact; }
}
</style></head><body>
)";

// Pictures are reached by Tab; within one, arrows go from mark to mark. What is chosen, by them or
// by the pointer, is told below the picture.
inline constexpr const char *kPageTail =
    R"(<p class="keys">Keys: n and p go to the next and the previous launch that is not equal, a opens or closes all. In a
picture, the arrows go from mark to mark.</p>
<script>
"use strict";
for (const figure of document.querySelectorAll("figure")) {
  const marks = [...figure.querySelectorAll("rect[data-x]")], told = figure.querySelector("output");
  let chosen = -1;
  const choose = index => {
    if (chosen >= 0) marks[chosen].classList.remove("chosen");
    chosen = index;
    marks[index].classList.add("chosen");
    told.textContent = marks[index].querySelector("title").textContent;
  };
  const place = mark => [Number(mark.dataset.x), Number(mark.dataset.y)];
  const towards = (dx, dy) => {
    const [x, y] = place(marks[chosen]);
    let best = -1, least = Infinity;
    marks.forEach((mark, index) => {
      const [u, v] = place(mark), ahead = (u - x) * dx + (v - y) * dy, aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
      if (ahead > 0 && aside * 1000 + ahead < least) { best = index; least = aside * 1000 + ahead; }
    });
    return best;
  };
  figure.addEventListener("pointerover", event => {
    const mark = event.target.closest("rect[data-x]");
    if (mark) choose(marks.indexOf(mark));
  });
  figure.addEventListener("keydown", event => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step || !marks.length) return;
    event.preventDefault();
    const next = chosen < 0 ? 0 : towards(...step);
    if (next >= 0) choose(next);
  });
}
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
</script></body></html>
)";

} // namespace rubia::tools
