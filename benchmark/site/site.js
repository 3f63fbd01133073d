// Sorting, filtering and choosing columns. Every page can be read without it; nothing it handles is ever parsed as HTML.
"use strict";

const valueOf = (row, column) => {
  const cell = row.cells[column];
  return cell === undefined ? "" : cell.dataset.value ?? cell.textContent.trim();
};

// Rows without a value stay last in either direction; equal rows keep their order.
const compare = (a, b, direction) => {
  if (a === "" || b === "") return (a === "") - (b === "");
  const x = Number(a), y = Number(b);
  if (Number.isFinite(x) && Number.isFinite(y)) return direction * (x - y);
  return direction * a.localeCompare(b, "en", { numeric: true });
};

const sortTable = (table, header, direction) => {
  const body = table.tBodies[0];
  const column = header.cellIndex;
  const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
  rows.sort(([a], [b]) => compare(a, b, direction));
  body.append(...rows.map(([, row]) => row));
  for (const other of table.querySelectorAll("th[data-sort]")) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
};

// Numbers first from the largest, words and ranks from the smallest; a second click turns round.
const nextDirection = (table, header) => {
  const now = header.getAttribute("aria-sort");
  if (now) return now === "descending" ? 1 : -1;
  const first = [...table.tBodies[0].rows].map((row) => valueOf(row, header.cellIndex)).find((value) => value !== "");
  const upward = header.classList.contains("rank") || !Number.isFinite(Number(first));
  return upward ? 1 : -1;
};

const makeSortable = (table) => {
  const headers = [...table.querySelectorAll("th[data-sort]")];
  const menu = document.createElement("select");
  for (const header of headers) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    const option = document.createElement("option");
    option.textContent = header.textContent;
    menu.append(option);
    button.addEventListener("click", () => {
      sortTable(table, header, nextDirection(table, header));
      menu.selectedIndex = headers.indexOf(header);
    });
  }
  menu.selectedIndex = Math.max(0, headers.findIndex((header) => header.hasAttribute("aria-sort")));
  menu.addEventListener("change", () => {
    const header = headers[menu.selectedIndex];
    sortTable(table, header, nextDirection(table, header));
  });
  const label = document.createElement("label");
  label.className = "sort-menu";
  label.append("Sort by ", menu);
  if (table.classList.contains("board")) table.parentElement.before(label);
};

const makeFilter = (box) => {
  const table = document.getElementById(box.dataset.filter);
  const find = box.querySelector("[data-find]");
  const status = box.querySelector("[data-status]");
  const count = box.querySelector("[data-count]");
  const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
  const apply = () => {
    const wanted = find.value.trim().toLowerCase();
    let n = 0;
    for (const [row, text] of rows) {
      const kept = text.includes(wanted) && (!status || !status.value || row.dataset.rowStatus === status.value);
      row.hidden = !kept;
      n += kept;
    }
    count.textContent = n === rows.length ? `${n} events` : `${n} of ${rows.length} events`;
  };
  find.addEventListener("input", apply);
  status?.addEventListener("change", apply);
  box.hidden = false;
  apply();
};

// Two columns at a time, named by ?a= and ?b= so that a view has an address.
const makeChooser = (form) => {
  const columns = [...document.querySelectorAll("[data-system]")];
  const [left, right] = ["a", "b"].map((side) => form.querySelector(`[data-side="${side}"]`));
  const known = new Set(columns.map((column) => column.dataset.system));
  const asked = new URLSearchParams(location.search);
  const names = [...known];
  const show = () => {
    for (const column of columns) {
      const name = column.dataset.system;
      column.hidden = name !== left.value && name !== right.value;
      column.classList.toggle("second", name !== left.value);
    }
  };
  left.value = known.has(asked.get("a")) ? asked.get("a") : names[0];
  right.value = known.has(asked.get("b")) ? asked.get("b") : names.find((name) => name !== left.value) ?? "";
  for (const select of [left, right]) {
    select.addEventListener("change", () => {
      const query = new URLSearchParams({ a: left.value, b: right.value });
      try {
        history.replaceState(null, "", `?${query}`);
      } catch {
        // some browsers forbid this on pages opened from a disk; the view changes all the same
      }
      show();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
};

document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
document.querySelectorAll("[data-filter]").forEach(makeFilter);
document.querySelectorAll("[data-choose]").forEach(makeChooser);
