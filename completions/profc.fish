# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for profc. What may stand where is asked from profc itself, so that it is
# always that of the program that will run; see complete_words() for its answers.

# The path behind the = of an option, or the whole word.
function __profc_paths --argument-names kind
    set -l token (commandline -ct)
    set -l option (string match -r '^--[^=]*=' -- $token)
    for path in ($kind (string replace -r '^--[^=]*=' '' -- $token))
        echo -- "$option$path"
    end
end

function __profc_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l nr (math (count $words) - 1)
    set -l all (commandline -po)
    set -l next (count $words)
    # Among all words there is none at the cursor where it is empty.
    test -n "$words[-1]"; and set next (math $next + 1)
    command -q $words[1]; or return
    for line in ($words[1] --complete $nr $words[2..-1] $all[$next..-1] 2>/dev/null)
        switch $line
            case ':command *'
                set -l at (math (string replace ':command ' '' -- $line) + 2)
                set -l typed
                if test $at -lt (count $words)
                    set typed (string escape -- $words[$at..-2])
                end
                complete -C (string join ' ' -- $typed (commandline -ct))
            case :programs
                complete -C (commandline -ct)
            case :files
                __profc_paths __fish_complete_path
            case :directories
                __profc_paths __fish_complete_directories
            case :paths
            case '*'
                echo -- $line
        end
    end
end

complete -c profc -f -a '(__profc_complete)'
