# SPDX-License-Identifier: GPL-2.0-or-later
# The rules behind scripts/check-layers. First file: layers.conf; then sources.

function complain(message)
{
	printf "%s:%d: %s\n", FILENAME, FNR, message
	failed = 1
}

# "room: above above ! owned owned"
function read_rule(    nr, words, i, room, after_mark)
{
	sub(/#.*/, "")
	if ($0 !~ /[^ \t]/)
		return
	nr = split($0, words)
	room = words[1]
	if (!sub(/:$/, "", room)) {
		complain("a line begins with \"room:\"")
		return
	}
	for (i = 2; i <= nr; i++) {
		if (words[i] == "!") {
			after_mark = 1
		} else if (after_mark) {
			if (owners[words[i]])
				owners[words[i]] = owners[words[i]] " and "
			owners[words[i]] = owners[words[i]] "lib/" room "/"
			owns[words[i], room] = 1
		} else {
			if (!(words[i] in known))
				complain("room " room " names " words[i] ", which is not above it")
			allowed[room, words[i]] = 1
		}
	}
	known[room] = 1
}

function start_of_file(    parts)
{
	split(FILENAME, parts, "/")
	half = parts[1]
	room = half == "lib" ? parts[2] : "cmd"
	if (half == "lib" && !(room in known))
		complain("room " room " is not in scripts/layers.conf")
}

function check_system(header)
{
	if (header in owners && !((header, room) in owns))
		complain("<" header "> may be included in " owners[header] " only")
}

function check_own(header,    parts)
{
	if (split(header, parts, "/") != 2) {
		complain("\"" header "\" must be named with its room, as \"room/file.h\"")
		return
	}
	if (parts[1] == room)
		return
	if (parts[1] == "cmd")
		complain("lib/ may not include cmd/")
	else if (parts[2] ~ /_priv\.h$/)
		complain("\"" header "\" is private to lib/" parts[1] "/")
	else if (half == "lib" && !((room, parts[1]) in allowed))
		complain("room " room " may not include room " parts[1])
}

NR == FNR { read_rule(); next }

FNR == 1 { start_of_file() }

match($0, /^[ \t]*#[ \t]*include[ \t]*[<"][^>"]*[>"]/) {
	included = substr($0, RSTART, RLENGTH)
	quoted = included ~ /"$/
	sub(/^[^<"]*[<"]/, "", included)
	sub(/[>"]$/, "", included)
	if (quoted)
		check_own(included)
	else
		check_system(included)
}

END { exit failed }
