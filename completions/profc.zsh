#compdef profc
# SPDX-License-Identifier: GPL-2.0-or-later
# zsh completion for profc. What may stand where is asked from profc itself, so that it is
# always that of the program that will run; see complete_words() for its answers.

_profc() {
	local -a typed candidates shown directories
	local line
	local -i width at
	local tab=$'\t'

	typed=("${(@Q)words[2,CURRENT - 1]}" "${(Q)PREFIX}")
	for line in ${(f)"$(${(Q)words[1]} --complete $#typed "${typed[@]}" \
		"${(@Q)words[CURRENT + 1,-1]}" 2>/dev/null)"}; do
		case $line in
		:command\ *)
			line=${line#:command }
			shift $((line + 1)) words
			((CURRENT -= line + 1))
			_normal
			return
			;;
		:programs)
			compset -P '*='
			_command_names -e
			;;
		:files)
			compset -P '--*='
			_files
			;;
		:directories)
			compset -P '--*='
			_files -/
			;;
		:paths) ;;
		*/$tab)
			directories+=("${line%$tab}")
			;;
		*)
			candidates+=("${line%%$tab*}")
			shown+=("${line#*$tab}")
			((${#candidates[-1]} > width)) && width=${#candidates[-1]}
			;;
		esac
	done
	for ((at = 1; at <= ${#shown}; at++)); do
		shown[at]=${(r:width:)candidates[at]}${shown[at]:+  -- }${shown[at]}
	done
	((${#directories})) && compadd -V profc -S '' -- "${directories[@]}"
	((${#candidates})) && compadd -V profc -l -d shown -- "${candidates[@]}"
}

_profc "$@"
