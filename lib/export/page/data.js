// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the data block: base64 of gzip of a line of JSON and columns of LEB128 numbers. Written by
// page_data.c, page_samples.c, page_blocks.c. Columns, of which `columns` has name and length:
//
//	frameFunction, frameFile (and 1), frameLine, frameInlined   levels of inline chains
//	frameAddress (delta)   where the page has instructions
//	stackFrame (delta), stackPrefix (how many rows before; 0: none)
//	sampleThread, threadSamples   runs of samples of a thread, in time order
//	sampleGap, sampleEnd (from the end before in the thread), sampleStack, sampleCpu, sampleRunq,
//	sampleBlocked, sampleNr
//	blockTime (delta), blockThread, blockStack, blockBytes, blockKnown, blockError, blockLife,
//	blockBlocks, blockFlags; freedTime, …
function bytesOf(text) {
	const chars = atob(text), bytes = new Uint8Array(chars.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = chars.charCodeAt(i);
	return bytes;
}

async function unpack(text) {
	const packed = bytesOf(text);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function readNumbers(bytes, from, into) {
	let at = from;
	for (let i = 0; i < into.length; i++) {
		let byte = bytes[at++], value = byte & 127, scale = 128;
		while (byte > 127) {
			byte = bytes[at++];
			value += (byte & 127) * scale;
			scale *= 128;
		}
		into[i] = value;
	}
	return at;
}

// Ids take half the room of times.
const IS_ID = /^(frame[FLI]|stack|sampleThread|threadSamples|sampleStack|sampleNr|blockThread|blockStack|blockFlags|freedThread|freedStack)/;

// Zigzag, and each number what is to be added to the one before.
function undoDeltas(column) {
	let value = 0;
	for (let i = 0; i < column.length; i++) {
		value += column[i] % 2 ? -(column[i] + 1) / 2 : column[i] / 2;
		column[i] = value;
	}
}

async function readData(text) {
	const bytes = await unpack(text.trim());
	const end = bytes.indexOf(10);
	const data = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
	const columns = {};
	let at = end + 1;
	for (const [name, nr] of data.columns) {
		columns[name] = new (IS_ID.test(name) ? Uint32Array : Float64Array)(nr);
		at = readNumbers(bytes, at, columns[name]);
	}
	data.columns = columns;
	return data;
}

function decodeStacks(side, columns) {
	const nr = columns.stackFrame.length;
	side.nrStacks = nr;
	side.stackFrame = columns.stackFrame;
	side.stackPrefix = new Int32Array(nr);
	side.stackFunction = new Uint32Array(nr);
	let frame = 0;
	for (let i = 0; i < nr; i++) {
		const delta = columns.stackFrame[i], back = columns.stackPrefix[i];
		frame += delta % 2 ? -(delta + 1) / 2 : delta / 2;
		side.stackFrame[i] = frame;
		side.stackPrefix[i] = back ? i - back : -1;
		side.stackFunction[i] = side.functionOf[columns.frameFunction[frame]];
	}
	side.frameFile = columns.frameFile;
	side.frameLine = columns.frameLine;
	side.frameInlined = columns.frameInlined;
	side.frameFunction = columns.frameFunction;
	side.frameAddress = columns.frameAddress || null;
	if (side.frameAddress)
		undoDeltas(side.frameAddress);
}

function scaled(column, grain) {
	for (let i = 0; grain !== 1 && i < column.length; i++)
		column[i] *= grain;
	return column;
}

// From distances to moments: where the time that a sample covers begins, and where it ends.
function placeSamples(start, end, first, last) {
	for (let i = first, before = 0; i < last; i++) {
		start[i] += before;
		before = end[i] += before;
	}
}

function decodeSamples(side, data) {
	const columns = data.columns, grain = data.grainNs, end = columns.sampleEnd;
	side.runs = [];
	side.runOfThread = new Int32Array(data.threads.length).fill(-1);
	let first = 0;
	for (let run = 0; run < columns.sampleThread.length; run++) {
		const last = first + columns.threadSamples[run];
		side.runs.push({thread: columns.sampleThread[run], first: first, last: last});
		side.runOfThread[columns.sampleThread[run]] = run;
		placeSamples(columns.sampleGap, end, first, last);
		first = last;
	}
	side.samples = {
		nr: end.length, end: scaled(end, grain), start: scaled(columns.sampleGap, grain), stack: columns.sampleStack,
		cpu: scaled(columns.sampleCpu, grain), runq: scaled(columns.sampleRunq, grain),
		blocked: scaled(columns.sampleBlocked, grain), seen: columns.sampleNr,
	};
}

function decodeBlocks(columns, prefix, grain) {
	if (!columns[prefix + "Time"])
		return null;
	undoDeltas(columns[prefix + "Time"]);
	return {
		nr: columns[prefix + "Time"].length, time: scaled(columns[prefix + "Time"], grain),
		thread: columns[prefix + "Thread"], stack: columns[prefix + "Stack"],
		bytes: columns[prefix + "Bytes"], known: columns[prefix + "Known"],
		error: columns[prefix + "Error"], life: columns[prefix + "Life"],
		blocks: columns[prefix + "Blocks"], flags: columns[prefix + "Flags"],
	};
}

// Functions of all sides in one table: those of the first, then those that only the other has.
const functions = [];

function addFunctions(data, side) {
	side.functionOf = new Int32Array(data.functions.length);
	data.functions.forEach((row, i) => {
		const same = data.sameAs ? data.sameAs[i] : -1;
		side.functionOf[i] = same >= 0 ? same : functions.length;
		if (same >= 0)
			return;
		const module = row[3] >= 0 ? data.modules[row[3]] : null;
		functions.push({
			name: row[0], full: row[5] || row[0], file: row[1] >= 0 ? data.files[row[1]] : "",
			line: row[2], module: module ? module[0] : "", isFunction: Boolean(row[4]),
		});
	});
}

function decodeSide(data) {
	const side = {data: data, threads: data.threads, processes: data.processes, files: data.files};
	addFunctions(data, side);
	decodeStacks(side, data.columns);
	decodeSamples(side, data);
	side.blocks = decodeBlocks(data.columns, "block", data.blockGrainNs);
	side.freed = decodeBlocks(data.columns, "freed", data.blockGrainNs);
	if (side.blocks)
		side.blocks.lifeGrain = data.blockGrainNs;
	side.calls = callsByFunction(data, side);
	return side;
}

// By function: exact calls, or undefined where they were not counted.
function callsByFunction(data, side) {
	const calls = [];
	(data.calls || []).forEach((nr, i) => {
		if (nr !== null)
			calls[side.functionOf[i]] = nr;
	});
	return calls;
}

function threadName(side, thread) {
	const [process, name, tid] = side.threads[thread];
	const [processName, pid] = side.processes[process];
	const both = name && name !== processName ? processName + "/" + name : processName;
	return both + " (pid " + pid + ", tid " + tid + ")";
}

function locationOf(row) {
	return row.file ? row.file + (row.line ? ":" + row.line : "") : "";
}
