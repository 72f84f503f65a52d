// Pictures are reached by Tab; within one, arrows go from mark to mark. What is chosen, by them or by the pointer, is
// told below the picture.
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
