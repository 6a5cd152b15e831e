# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for profc. Commands and options are asked from profc itself, so
# that they are always those of the program that will run.

function __profc_command
    set -l words (commandline -opc)
    if set -q words[2]
        echo $words[2]
    end
end

function __profc_needs_command
    test -z (__profc_command)
end

function __profc_options
    profc (__profc_command) --list-options 2>/dev/null
end

function __profc_at_option
    not __profc_needs_command
    and not string match -q -- --version (__profc_command)
    and string match -q -- '-*' (commandline -ct)
end

complete -c profc -n __profc_needs_command -f -a '(profc --list-commands 2>/dev/null) help --help --version'
complete -c profc -n '__fish_seen_subcommand_from help' -f -a '(profc --list-commands 2>/dev/null)'
complete -c profc -n 'string match -q -- --version (__profc_command)' -f -a -v
complete -c profc -n __profc_at_option -f -a '(__profc_options)'
complete -c profc -n '__fish_seen_subcommand_from record attach top dump doctor' -s p -l pid -x -a '(__fish_complete_pids)'
complete -c profc -n '__fish_seen_subcommand_from report annotate export diff top' -s m -l metric -x -a 'cpu wall runq blocked samples alloc allocs live peak leaked temporary freed'
complete -c profc -n '__fish_seen_subcommand_from report' -s m -l metric -x -a calls
complete -c profc -n '__fish_seen_subcommand_from report annotate diff' -l unit -x -a 'auto ns us ms s'
complete -c profc -n '__fish_seen_subcommand_from report top' -l by -x -a 'function line file module thread process state syscall lifetime'
complete -c profc -n '__fish_seen_subcommand_from report annotate diff info dump top doctor' -l color -x -a 'auto always never'
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l unwinder -x -a 'auto cfi libunwind fp'
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l count -x
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l count-calls-in -x
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l count-lines -r -F
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l count-max -x
complete -c profc -n '__fish_seen_subcommand_from record attach' -l within -x
complete -c profc -n '__fish_seen_subcommand_from record attach' -l agent -x -a '(__fish_complete_command)'
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l mem
complete -c profc -n '__fish_seen_subcommand_from record attach top' -l mem-functions -x
complete -c profc -n '__fish_seen_subcommand_from record top' -x -a '(__fish_complete_command)'
