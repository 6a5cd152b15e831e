// SPDX-License-Identifier: GPL-2.0-or-later
// A table of any number of rows, of which only those in sight are in the document.
//
// options: label, columns() → [{key, title, width, number, sort, hint}], cells(row) → [{text, title,
// bar, indent, open, className, match: a pattern}], pick(row), open(row), and for trees level(row), isOpen(row),
// click(row): in place of picking it; hue(row) → [of its background in degrees, is it a match], or null; sortKey: of the state; isPlain: rows are not of functions; toggle(row, open), openAll(row), stack(row) → labels, leaf first.
const ROW_PX = 22, PRINTED_ROWS = 200;
let nrTables = 0;

// With what matches a pattern marked.
function appendText(into, text, pattern) {
	let at = 0;
	for (const found of pattern ? text.matchAll(new RegExp(pattern.source, "gi")) : []) {
		if (!found[0])
			continue;
		into.append(text.slice(at, found.index), element("mark", "", found[0]));
		at = found.index + found[0].length;
	}
	into.append(text.slice(at));
}

class RowTable {
	constructor(host, options) {
		this.options = options;
		this.nr = 0;
		this.cursor = -1;
		this.id = "rows" + nrTables++;
		host.classList.add("rows");
		this.host = host;
		this.head = element("div", "head");
		this.head.setAttribute("role", "row");
		this.body = element("div", "body");
		this.body.setAttribute("role", "rowgroup");
		host.setAttribute("role", options.toggle ? "treegrid" : "grid");
		host.setAttribute("aria-label", options.label);
		host.tabIndex = 0;
		host.append(this.head, this.body);
		host.addEventListener("scroll", () => this.render());
		new ResizeObserver(() => {
			if (this.columns)
				this.setRows(this.nr, this.cursor);
		}).observe(host);
		this.listen();
	}

	listen() {
		this.body.addEventListener("click", (event) => {
			const row = this.rowOf(event);
			if (row < 0)
				return;
			if (event.target.closest(".toggle"))
				this.options.toggle(row);
			else if (this.options.click)
				this.options.click(row);
			else
				this.moveTo(row, true);
		});
		this.body.addEventListener("dblclick", (event) => {
			if (this.rowOf(event) >= 0 && this.options.open)
				this.options.open(this.rowOf(event));
		});
		this.body.addEventListener("contextmenu", (event) => {
			const row = this.rowOf(event);
			if (row < 0 || this.options.isPlain)
				return;
			event.preventDefault();
			this.moveTo(row, true);
			if (state.function >= 0)
				showMenu(event.clientX, event.clientY, this.options.stack ? this.options.stack(row) : null);
		});
		this.head.addEventListener("click", (event) => {
			const button = event.target.closest("button");
			if (button)
				this.options.sortBy(button.dataset.sort);
		});
		this.host.addEventListener("keydown", (event) => this.key(event));
	}

	rowOf(event) {
		const row = event.target.closest(".row");
		return row ? Number(row.dataset.row) : -1;
	}

	key(event, isForwarded) {
		const page = Math.max(1, Math.floor(this.host.clientHeight / ROW_PX) - 2);
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.nr,
			End: this.nr};
		if ((event.target !== this.host && !isForwarded) || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key in steps)
			this.moveTo(Math.max(0, Math.min(this.nr - 1, this.cursor + steps[event.key])), true);
		else if (event.key === "Enter" && this.cursor >= 0 && this.options.open)
			this.options.open(this.cursor);
		else if (this.options.toggle && event.key === "ArrowRight" && this.cursor >= 0)
			this.options.toggle(this.cursor, true);
		else if (this.options.toggle && event.key === "ArrowLeft" && this.cursor >= 0)
			this.options.toggle(this.cursor, false);
		else if (this.options.openAll && event.key === "*" && this.cursor >= 0)
			this.options.openAll(this.cursor);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	moveTo(row, picks) {
		if (row < 0 || row >= this.nr)
			return;
		this.cursor = row;
		this.reveal(row);
		if (picks)
			this.options.pick(row);
		this.render();
	}

	reveal(row) {
		const top = row * ROW_PX, room = this.host.clientHeight - ROW_PX * 1.5;
		if (top < this.host.scrollTop)
			this.host.scrollTop = top;
		else if (top + ROW_PX > this.host.scrollTop + room)
			this.host.scrollTop = top + ROW_PX - room;
	}

	setRows(nr, cursor) {
		this.nr = nr;
		this.cursor = cursor === undefined ? Math.min(this.cursor, nr - 1) : cursor;
		this.columns = this.options.columns();
		const widths = this.columns.map((column) => column.width).join(" ");
		this.host.style.setProperty("--columns", widths);
		this.host.setAttribute("aria-rowcount", nr + 1);
		this.head.replaceChildren(...this.columns.map((column) => this.headCell(column)));
		this.render();
	}

	headCell(column) {
		const cell = element("div", column.number ? "number" : "");
		cell.setAttribute("role", "columnheader");
		cell.title = column.hint || "";
		if (!column.sort) {
			cell.textContent = column.title;
			return cell;
		}
		const button = element("button", "", column.title);
		const sort = state[this.options.sortKey || "sort"], is = sort.replace(/^-/, "") === column.sort && !column.follows;
		button.dataset.sort = column.sort;
		button.tabIndex = -1;
		cell.setAttribute("aria-sort", !is ? "none" : sort[0] === "-" ? "descending" : "ascending");
		if (is)
			button.append(sort[0] === "-" ? " \u25be" : " \u25b4");
		cell.append(button);
		return cell;
	}

	render() {
		if (!this.columns || !this.host.clientHeight)
			return;
		const first = isPrinting ? 0 : Math.max(0, Math.floor(this.host.scrollTop / ROW_PX) - 4);
		const room = isPrinting ? PRINTED_ROWS : Math.ceil(Math.min(this.host.clientHeight, innerHeight) / ROW_PX) + 8;
		const last = Math.min(this.nr, first + room), rows = [];
		for (let i = first; i < last; i++)
			rows.push(this.row(i));
		this.body.style.height = (isPrinting ? last : this.nr) * ROW_PX + "px";
		this.body.replaceChildren(...rows);
		if (this.cursor >= first && this.cursor < last)
			this.host.setAttribute("aria-activedescendant", this.id + "-" + this.cursor);
		else
			this.host.removeAttribute("aria-activedescendant");
	}

	row(i) {
		const row = element("div", i === this.cursor ? "row picked" : "row");
		row.id = this.id + "-" + i;
		row.dataset.row = i;
		row.style.top = i * ROW_PX + "px";
		row.setAttribute("role", "row");
		row.setAttribute("aria-rowindex", i + 2);
		row.setAttribute("aria-selected", String(i === this.cursor));
		if (this.options.level) {
			row.setAttribute("aria-level", this.options.level(i));
			if (this.options.isOpen(i) !== null)
				row.setAttribute("aria-expanded", String(this.options.isOpen(i)));
		}
		const hue = this.options.hue ? this.options.hue(i) : null;
		if (hue) {
			row.classList.add("hued");
			row.classList.toggle("match", hue[1]);
			row.style.setProperty("--hue", hue[0]);
		}
		this.options.cells(i).forEach((cell, at) => row.append(this.cell(cell, this.columns[at])));
		return row;
	}

	cell(cell, column) {
		const made = element("div", (column.number ? "number " : "") + (cell.className || ""));
		made.setAttribute("role", "gridcell");
		if (cell.bar) {
			made.classList.add("bar");
			made.style.setProperty("--part", (100 * cell.bar).toFixed(1) + "%");
		}
		if (cell.indent !== undefined) {
			made.style.paddingLeft = 4 + Math.min(cell.indent, 60) * 14 + "px";
			made.append(element("span", "toggle", cell.open === null ? "" : cell.open ? "\u25be" : "\u25b8"));
		}
		appendText(made, cell.text, cell.match);
		made.title = cell.title || cell.text;
		return made;
	}
}
