// A frame of a flame graph that is pressed, or chosen by Enter, takes the whole width; so do its callers. Escape shows all.
for (const graph of document.querySelectorAll("svg.flames")) {
  const whole = Number(graph.viewBox.baseVal.width), frames = [...graph.querySelectorAll("g")];
  const show = (from, width) => {
    for (const frame of frames) {
      const rect = frame.firstElementChild, label = frame.querySelector("text");
      const left = Math.max(0, (Number(frame.dataset.from) - from) / width);
      const right = Math.min(1, (Number(frame.dataset.from) + Number(frame.dataset.width) - from) / width);
      frame.style.display = right - left > 1e-9 ? "" : "none";
      if (right - left <= 1e-9) continue;
      rect.setAttribute("x", left * whole);
      rect.setAttribute("width", Math.max((right - left) * whole - 0.5, 0.5));
      label.setAttribute("x", left * whole + 3);
      const letters = Math.floor(((right - left) * whole - 6) / 6.6), name = frame.dataset.name;
      label.textContent = letters < 3 ? "" : name.length <= letters ? name : name.slice(0, letters - 1) + "…";
    }
  };
  const zoom = frame => show(Number(frame.dataset.from), Number(frame.dataset.width));
  graph.addEventListener("click", event => {
    const frame = event.target.closest("g");
    if (frame) zoom(frame);
  });
  graph.closest("figure").addEventListener("keydown", event => {
    const chosen = graph.querySelector("rect.chosen");
    if (event.key === "Enter" && chosen) zoom(chosen.parentElement);
    if (event.key === "Escape") show(0, 1);
  });
  show(0, 1);
}
