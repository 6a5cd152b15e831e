# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for profc. What may stand where is asked from profc itself, so that it is
# always that of the program that will run; see complete_words() for its answers.
# shellcheck shell=bash

# COMP_WORDS is split at = and :, too: _profc_typed has the words as they were typed, of which
# _profc_nr go up to the cursor, and _profc_index where each of them begins in COMP_WORDS.
_profc_join_words() {
	local at word glue=
	_profc_typed=()
	_profc_index=()
	_profc_nr=0
	for ((at = 1; at < ${#COMP_WORDS[@]}; at++)); do
		word=${COMP_WORDS[at]}
		if ((at != COMP_CWORD + 1)) && [[ $word == [=:]* && ${#_profc_typed[@]} -gt 0 || -n $glue ]]; then
			_profc_typed[-1]+=$word
		else
			_profc_typed+=("$word")
			_profc_index+=("$at")
		fi
		glue=
		[[ $word == [=:] || $word == :: ]] && glue=1
		((at == COMP_CWORD)) && _profc_nr=${#_profc_typed[@]}
	done
}

# A command's own completion, with what there is: that of the package bash-completion, or its own
# function alone.
_profc_command() { # INDEX
	local name=${COMP_WORDS[$1]##*/} word=${COMP_WORDS[COMP_CWORD]} spec
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
		return
	fi
	if ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
		return
	fi
	spec=$(complete -p -- "$name" 2>/dev/null)
	if [[ $spec =~ -F\ ([^ ]+) ]]; then
		COMP_WORDS=("${COMP_WORDS[@]:$1}")
		((COMP_CWORD -= $1))
		COMP_LINE="${COMP_WORDS[*]}"
		COMP_POINT=${#COMP_LINE}
		"${BASH_REMATCH[1]}" "$name" "$word" "${COMP_WORDS[COMP_CWORD - 1]}"
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

# What bash itself knows: -c programs, -f files, -d directories; of a value, the part that is replaced.
_profc_add() { # ACTION VALUE WORD
	local found
	while IFS= read -r found; do
		COMPREPLY+=("${found:${#2}-${#3}}")
	done < <(compgen "$1" -- "$2")
}

# Descriptions beside the candidates, where these are only listed.
_profc_describe() { # DESCRIPTION...
	local at width=0 columns=${COLUMNS:-80} text
	((${#COMPREPLY[@]} > 1)) && [[ ${COMP_TYPE-} == 63 || ${COMP_TYPE-} == 33 || ${COMP_TYPE-} == 64 ]] ||
		return
	for text in "${COMPREPLY[@]}"; do
		((${#text} > width)) && width=${#text}
	done
	for ((at = 0; at < ${#COMPREPLY[@]}; at++)); do
		shift $((at > 0))
		[[ -n $1 ]] || continue
		printf -v text '%-*s  (%s)' "$width" "${COMPREPLY[at]}" "$1"
		((${#text} >= columns)) && text="${text:0:columns-2})"
		COMPREPLY[at]=$text
	done
}

_profc() {
	local -a _profc_typed _profc_index what=()
	local word value rest line _profc_nr last
	COMPREPLY=()
	_profc_join_words
	# What readline replaces is the part behind the last = or :, without an opening quote.
	word=${COMP_WORDS[COMP_CWORD]}
	[[ $word == [=:] || $word == :: ]] && word=
	word=${word#[\'\"]}
	last=$((_profc_nr - 1))
	_profc_typed[last]=${_profc_typed[last]#[\'\"]}
	rest=$((${#_profc_typed[last]} - ${#word}))
	value=${_profc_typed[last]}
	[[ $value == --*=* ]] && value=${value#*=}
	compopt -o nosort 2>/dev/null
	while IFS= read -r line; do
		case $line in
		:command\ *) _profc_command "${_profc_index[${line#:command }]}" ;;
		:programs) _profc_add -c "$value" "$word" ;;
		:files)
			compopt -o filenames 2>/dev/null
			_profc_add -f "$value" "$word"
			;;
		:directories)
			compopt -o filenames 2>/dev/null
			_profc_add -d "$value" "$word"
			;;
		:paths) compopt -o filenames 2>/dev/null ;;
		*)
			what[${#COMPREPLY[@]}]=${line#*$'\t'}
			line=${line%%$'\t'*}
			COMPREPLY+=("${line:rest}")
			[[ $line == *[:/] ]] && compopt -o nospace 2>/dev/null
			;;
		esac
	done < <("${COMP_WORDS[0]}" --complete "$_profc_nr" "${_profc_typed[@]}" 2>/dev/null)
	((${#what[@]} == ${#COMPREPLY[@]})) && _profc_describe "${what[@]}"
	return 0
}

complete -F _profc profc
