"use strict";
// What the page adds where scripts run: filters, arrow keys, and a cell's outcome in a dialog instead of further below.
const byId = (id) => document.getElementById(id);
const filters = byId("filters"), region = byId("grid"), dialog = byId("seen");
const bodies = [...region.querySelectorAll("tbody")];
const heads = [...region.querySelectorAll("thead th")];
const rows = bodies.flatMap((body) => [...body.rows].slice(1));
const boxes = [...filters.querySelectorAll("[type=checkbox]")];
const word = (cell) => cell.textContent.trim();
const shown = (element) => !element.hidden && !element.parentElement.hidden;

const said = new Map();
for (const article of document.querySelectorAll("article")) {
  const about = [...article.querySelectorAll(":scope > h3, :scope > p")].map((part) => part.textContent);
  said.set(article.id, about.join(" ").toLowerCase());
}

function matches(row, cells, wanted) {
  if (!wanted) return true;
  if (wanted === "differ") return new Set(cells.map(word)).size > 1;
  if (wanted === "mishandled") return cells.some((cell) => cell.className === "m");
  return cells.some((cell) => word(cell).split(" or ").includes(wanted.split(": ").pop()));
}

function filter() {
  const columns = boxes.map((box) => box.checked);
  const find = byId("find").value.trim().toLowerCase();
  const operation = byId("operation").value, wanted = byId("verdict").value;
  let count = 0;
  for (const head of heads.slice(1)) head.hidden = !columns[head.cellIndex - 1];
  for (const body of bodies) {
    body.hidden = Boolean(operation) && body.dataset.operation !== operation;
    let some = false;
    for (const row of [...body.rows].slice(1)) {
      const cells = [...row.cells].slice(1);
      cells.forEach((cell, column) => { cell.hidden = !columns[column]; });
      const visible = cells.filter((cell) => !cell.hidden && cell.className !== "n");
      row.hidden = !visible.length || !said.get(word(row.cells[0])).includes(find) || !matches(row, visible, wanted);
      some ||= !row.hidden;
      count += !row.hidden && !body.hidden;
    }
    body.hidden ||= !some;
  }
  byId("count").textContent = `${count} of ${rows.length} rows`;
  moveTo(current && shown(current) && shown(current.parentElement) ? current : next(0, 0), false);
}

// One cell is in the order of Tab; arrow keys lead to the others.
let current = null;
const links = (row) => [...row.cells].filter((cell) => shown(cell) && cell.querySelector("a"));
const visibleRows = () => rows.filter((row) => shown(row));
const next = (row, column) => {
  const all = visibleRows();
  if (!all.length) return null;
  const cells = links(all[Math.max(0, Math.min(row, all.length - 1))]);
  return cells[Math.max(0, Math.min(column, cells.length - 1))];
};

function moveTo(cell, focus) {
  current?.querySelector("a").setAttribute("tabindex", "-1");
  current = cell;
  const link = current?.querySelector("a");
  link?.setAttribute("tabindex", "0");
  if (focus) link?.focus();
}

function arrows(event) {
  const cell = event.target.closest("td, th[scope=row]");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = visibleRows().indexOf(cell.parentElement), column = links(cell.parentElement).indexOf(cell);
  const places = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    Home: [row, 0], End: [row, Infinity], PageUp: [row - 10, column], PageDown: [row + 10, column],
  };
  if (!(event.key in places)) return;
  event.preventDefault();
  moveTo(next(...places[event.key]), true);
}

function open(event) {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  moveTo(link.parentElement, false);
  const cell = link.parentElement, name = cell.parentElement.cells[0];
  const title = document.createElement("h2"), close = document.createElement("button");
  title.id = "seen-title";
  title.textContent = cell === name ? word(name) : `${word(name)}: ${heads[cell.cellIndex].textContent}`;
  close.className = "close";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  const parts = [...byId(word(name)).cloneNode(true).children].slice(1);
  for (const item of parts.flatMap((part) => [...part.querySelectorAll("li")])) {
    if (link.hash === `#${item.id}`) item.setAttribute("aria-current", "true");
    item.removeAttribute("id");
  }
  dialog.replaceChildren(close, title, ...parts);
  dialog.showModal();
  dialog.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

for (const link of region.querySelectorAll("tbody a")) link.setAttribute("tabindex", "-1");
filters.hidden = false;
filters.addEventListener("input", filter);
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(filter));
region.addEventListener("keydown", arrows);
region.addEventListener("click", open);
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
filter();
