# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for profc. Commands and options are asked from profc itself, so
# that they are always those of the program that will run.
# shellcheck shell=bash

_profc_words() { # WORD CANDIDATE...
	local word=$1
	shift
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "$word")
}

_profc_files() { # WORD
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_profc_pids() { # WORD
	_profc_words "$1" "$(cd /proc && echo [1-9]*)"
}

# What --metric takes differs.
_profc_metrics() { # COMMAND WORD
	local metrics="cpu wall runq blocked samples alloc allocs live peak leaked temporary freed"
	[[ $1 == report ]] && metrics+=" calls"
	_profc_words "$2" "$metrics"
}

# The value of the option before the cursor; fails if that takes none we know.
_profc_value() { # OPTION WORD COMMAND
	case $1 in
	-p | --pid) _profc_pids "$2" ;;
	-i | --input | -o | --output | --count-lines) _profc_files "$2" ;;
	-m | --metric) _profc_metrics "$3" "$2" ;;
	--within | --count | --mem-functions) ;; # functions: nobody knows yet of which program
	--by) _profc_words "$2" function line file module thread process state syscall lifetime ;;
	--color) _profc_words "$2" auto always never ;;
	--unwinder) _profc_words "$2" auto cfi libunwind fp ;;
	--weights) _profc_words "$2" value samples ;;
	--unit) _profc_words "$2" auto ns us ms s ;;
	*) return 1 ;;
	esac
}

# The position of CMD in the words of record or top, or nothing: its own completion follows.
_profc_command_at() {
	local at
	for ((at = 2; at < COMP_CWORD; at++)); do
		case ${COMP_WORDS[at]} in
		--)
			echo $((at + 1))
			return
			;;
		-[Fodmnp] | --frequency | --output | --duration | --delay | --max-* | --threads | \
			--unwinder | --control | --within | --pid | --metric | --by | --limit | --window | \
			--interval | --times | --count | --count-* | --mem-functions | --agent | --color | --width | \
			--names | --debug-dir | --sysroot | --debuginfod-timeout) at=$((at + 1)) ;;
		-*) ;;
		*)
			echo "$at"
			return
			;;
		esac
	done
}

_profc() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local profc=${COMP_WORDS[0]} command=${COMP_WORDS[1]} at
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		_profc_words "$word" "$("$profc" --list-commands 2>/dev/null) help --help --version"
		return
	fi
	if [[ $command == help ]]; then
		_profc_words "$word" "$("$profc" --list-commands 2>/dev/null)"
		return
	fi
	if [[ $command == --version ]]; then
		_profc_words "$word" -v
		return
	fi
	if [[ $command == record || $command == top ]]; then
		at=$(_profc_command_at)
		if [[ -n $at ]] && declare -F _command_offset >/dev/null; then
			_command_offset "$at"
			return
		fi
	fi
	_profc_value "$before" "$word" "$command" && return
	if [[ $word == -* ]]; then
		_profc_words "$word" "$("$profc" "$command" --list-options 2>/dev/null)"
		return
	fi
	if [[ ($command == record || $command == top) && $before != -* && -z $at ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
		return
	fi
	_profc_files "$word"
}

complete -F _profc profc
