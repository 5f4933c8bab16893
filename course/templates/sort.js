// The head of a column sorts its rows; without a script the tables are in the report's order.
for (const head of document.querySelectorAll(".sortable thead th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const sign = head.ariaSort === "ascending" ? -1 : 1;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const value = (row) => row.cells[head.cellIndex].dataset.value ?? row.cells[head.cellIndex].textContent.trim();
    const order = (x, y) => (isNaN(x - y) ? x.localeCompare(y) : x - y);
    body.append(...[...body.rows].sort((a, b) => sign * order(value(a), value(b))));
  });
}
