// SPDX-License-Identifier: GPL-2.0-or-later
// Reads blocks of data: base64 of gzip. A script of its own, as it is a worker of the page, too, which reads rows of samples
// and the like while the page shows itself.
function bytesOf(text) {
	if (Uint8Array.fromBase64) // 2025
		return Uint8Array.fromBase64(text);
	const chars = atob(text), bytes = new Uint8Array(chars.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = chars.charCodeAt(i);
	return bytes;
}

// The texts of parts of a gzip file, whose last four bytes say how many there will be.
async function unpack(texts) {
	const parts = texts.map(bytesOf), stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter();
	const written = Promise.all([...parts.map((part) => writer.write(part)), writer.close()]);
	const end = new Uint8Array(parts.slice(-2).flatMap((part) => [...part.slice(-4)]).slice(-4));
	const bytes = new Uint8Array(new DataView(end.buffer).getUint32(0, true)), reader = stream.readable.getReader();
	let at = 0;
	for (let part; !(part = await reader.read()).done; at += part.value.length)
		bytes.set(part.value, at);
	await written;
	return bytes;
}

// Texts of the blocks of a class, of which there may be many: one long text takes longer to load.
function textsOf(name) {
	return [...document.querySelectorAll("div." + name)].map((block) => block.textContent);
}

// Planes of bytes to numbers. Twice, as each is quick for arrays of one type alone.
function readIds(into, bytes, at, size, least) {
	const nr = into.length, second = at + nr, third = second + nr;
	if (size === 1) {
		for (let i = 0; i < nr; i++)
			into[i] = least + bytes[at + i];
	} else if (size === 2) {
		for (let i = 0; i < nr; i++)
			into[i] = least + (bytes[at + i] | bytes[second + i] << 8);
	} else if (size > 2) {
		for (let i = 0; i < nr; i++)
			into[i] = least + (bytes[at + i] | bytes[second + i] << 8 | bytes[third + i] << 16);
	} else {
		into.fill(least);
	}
	for (let i = 0, from = third + nr; size > 3 && i < nr; i++)
		into[i] += bytes[from + i] << 24;
}

function readNumbers(into, bytes, at, size, least, unit) {
	const nr = into.length, second = at + nr, third = second + nr;
	let plane = Math.min(size, 3);
	if (plane === 0) {
		into.fill(least * unit);
	} else if (plane === 1) {
		for (let i = 0; i < nr; i++)
			into[i] = (least + bytes[at + i]) * unit;
	} else if (plane === 2) {
		for (let i = 0; i < nr; i++)
			into[i] = (least + (bytes[at + i] | bytes[second + i] << 8)) * unit;
	} else {
		for (let i = 0; i < nr; i++)
			into[i] = (least + (bytes[at + i] | bytes[second + i] << 8 | bytes[third + i] << 16)) * unit;
	}
	for (let scale = unit * 2 ** 24; plane < size; plane++, scale *= 256) {
		for (let i = 0, from = at + plane * nr; i < nr; i++)
			into[i] += bytes[from + i] * scale;
	}
}

// The columns of data blocks. Each is read when it is asked for, and then not kept here.
class Columns {
	constructor() {
		this.at = new Map();
		this.read = {}; // by name: those that a worker has read
	}

	// Those that begin at `at`.
	add(bytes, at, rows) {
		for (const [name, nr, size, least] of rows) {
			this.at.set(name, {nr: nr, size: size, least: least, bytes: bytes, at: at});
			at += nr * size;
		}
		return this;
	}

	take(name) {
		const read = this.read[name];
		delete this.read[name];
		return read;
	}

	has(name) {
		return this.at.has(name);
	}

	// Numbers below 2^32, in as much room as they need. Not to be written to.
	ids(name) {
		const {nr, size, least, bytes, at} = this.at.get(name), read = this.take(name);
		if (read)
			return read;
		if (size === 0 && least < 256)
			return new Uint8Array(nr).fill(least);
		if (size === 1 && least === 0)
			return bytes.subarray(at, at + nr);
		const into = new Uint32Array(nr);
		readIds(into, bytes, at, size, least);
		return into;
	}

	// Is any number more than 0? Known before there are bytes.
	hasAny(name) {
		const {nr, size, least} = this.at.get(name);
		return nr > 0 && (least > 0 || size > 0);
	}

	// Any numbers, in multiples of a unit.
	numbers(name, unit) {
		const {nr, size, least, bytes, at} = this.at.get(name), read = this.take(name);
		if (read)
			return read;
		const into = new Float64Array(nr);
		readNumbers(into, bytes, at, size, least, unit || 1);
		return into;
	}
}

// `wanted` are names of columns, and the units of those of any numbers.
function readWanted(bytes, table, wanted) {
	const columns = new Columns().add(bytes, 0, table), read = {};
	for (const [name, unit] of wanted) {
		if (columns.has(name))
			read[name] = unit ? columns.numbers(name, unit) : columns.ids(name);
	}
	return read;
}

// --- a worker ---

// Shorter texts are read before one has begun.
const WORKER_CHARS = 1 << 20;

// It answers with what there is, or null.
function answer({data}) {
	unpack(data.texts).then((bytes) => send(bytes, readWanted(bytes, data.table, data.wanted))).catch(() => postMessage(null));
}

// Some columns are parts of the bytes.
function send(bytes, read) {
	const buffers = new Set([bytes.buffer, ...Object.values(read).map((column) => column.buffer)]);
	postMessage({bytes: bytes, read: read}, [...buffers]);
}

// Null: the browser has none for us, or it fails.
async function askWorker(question) {
	let worker = null, answered = null;
	try {
		const file = new Blob([document.getElementById("reader").textContent], {type: "text/javascript"});
		worker = new Worker(URL.createObjectURL(file));
		answered = new Promise((done) => {
			worker.onmessage = ({data}) => done(data);
			worker.onerror = () => done(null);
		});
		worker.postMessage(question);
	} catch (error) {
		return null;
	}
	const found = await answered;
	worker.terminate();
	return found;
}

// Reads the rows of a class, which are the last of the page, and adds them to the columns of a block.
async function addRows(columns, name, table, wanted) {
	if (document.readyState === "loading")
		await new Promise((done) => { document.addEventListener("DOMContentLoaded", done); });
	const texts = textsOf(name), isLarge = texts.reduce((nr, text) => nr + text.length, 0) > WORKER_CHARS;
	const answered = isLarge ? await askWorker({texts: texts, table: table, wanted: wanted}) : null;
	if (answered)
		columns.read = answered.read;
	columns.add(answered ? answered.bytes : await unpack(texts), 0, table);
}

if (typeof document === "undefined")
	onmessage = answer;
