// Tables are sorted by the column whose head is pressed: numbers from the highest, words from the first; pressed again, the
// other way round. A cell's value is its data-value, else its text.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const valueOf = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("number"), was = head.getAttribute("aria-sort");
      const rises = was ? was === "descending" : !isNumber;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rises ? "ascending" : "descending");
      const compare = (a, b) => isNumber ? Number(a) - Number(b) : a.localeCompare(b);
      const rows = [...body.rows].map(row => [valueOf(row, column), row]);
      rows.sort(([a], [b]) => rises ? compare(a, b) : compare(b, a));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
// A field above long tables leaves the rows that have what was typed.
for (const field of document.querySelectorAll("input[data-filters]")) {
  const body = document.getElementById(field.dataset.filters).tBodies[0];
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
