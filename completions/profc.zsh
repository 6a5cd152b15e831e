#compdef profc
# SPDX-License-Identifier: GPL-2.0-or-later
# zsh completion for profc. Commands and options are asked from profc itself, so
# that they are always those of the program that will run.

# What --metric takes differs.
_profc_metrics() { # COMMAND
	local -a metrics=(cpu wall runq blocked samples alloc allocs live peak leaked temporary freed)
	[[ $1 == report ]] && metrics+=(calls)
	compadd -a metrics
}

_profc_value() { # OPTION COMMAND
	case $1 in
	-p | --pid) _pids ;;
	-i | --input | -o | --output | --count-lines) _files ;;
	-m | --metric) _profc_metrics $2 ;;
	--within | --count | --mem-functions) ;; # functions: nobody knows yet of which program
	--agent) _command_names -e ;;
	--by) compadd function line file module thread process state syscall lifetime ;;
	--color) compadd auto always never ;;
	--unwinder) compadd auto cfi libunwind fp ;;
	--weights) compadd value samples ;;
	--unit) compadd auto ns us ms s ;;
	*) return 1 ;;
	esac
}

_profc() {
	local program=${words[1]} command=${words[2]} current=${words[CURRENT]}
	local -a candidates

	if ((CURRENT == 2)) || [[ $command == help ]]; then
		candidates=(${(f)"$($program --list-commands 2>/dev/null)"})
		((CURRENT == 2)) && candidates+=(help --help --version)
		compadd -a candidates
		return
	fi
	if [[ $command == --version ]]; then
		compadd -- -v
		return
	fi
	if ((${words[(i)--]} < CURRENT)); then
		shift ${words[(i)--]} words
		((CURRENT = CURRENT - ${words[(i)--]}))
		_normal
		return
	fi
	_profc_value ${words[CURRENT - 1]} $command && return
	if [[ $current == -* ]]; then
		candidates=(${(f)"$($program $command --list-options 2>/dev/null)"})
		compadd -a candidates
	elif [[ $command == record || $command == top ]]; then
		_command_names -e
	else
		_files
	fi
}

_profc "$@"
