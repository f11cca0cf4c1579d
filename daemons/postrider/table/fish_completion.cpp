// Completion for fish, with descriptions.
#include "daemons/decide/queue/filter.h"
#include "daemons/postrider/table/completion.h"
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::string_view fish_head =
    R"fish(# postrider(1) for fish, made from the command's own table of commands and options.

# Candidates of one kind, one a line; what only the running system knows is asked of it.
function __postrider_kind -S
    if contains -- $argv[1] @id @domain @link @hook
        command -q postrider
        or return
    end
    switch $argv[1]
        case @id
            postrider message list --limit 500 --json $config 2>/dev/null |
                string replace -rf '.*"id":"([0-9A-F]*)".*' '$1'
        case @domain
            postrider queue list --json $config 2>/dev/null |
                string replace -rf '.*"queue":"([^"]*)".*' '$1'
        case @link
            postrider link list --json $config 2>/dev/null |
                string replace -rf '.*"link":"([^"]*)".*' '$1'
        case @hook
            postrider hook list --json $config 2>/dev/null |
                string replace -rf '.*"hook":"([^"]*)".*' '$1'
        case @word
            printf '%s\n' all $filters
        case @name
            switch $typed[-1]
                case queue
                    __postrider_kind @domain
                case link
                    __postrider_kind @link
            end
        case @user
            __fish_complete_users
        case @file
            __fish_complete_path $current
        case '@*'
        case '*'
            echo $argv[1]
    end
end

# Values of an option that wants one of this kind; the second argument is what is typed of it.
function __postrider_value
    switch "$argv[1]"
        case FILE
            __fish_complete_path $argv[2]
        case DIRECTORY
            __fish_complete_directories $argv[2] ''
        case ORDER
            printf '%s\n' oldest newest largest next
    end
end

# Sets places, repeated and options.
function __postrider_command -S
    switch "$argv[1]"
)fish";

constexpr std::string_view fish_middle = R"fish(        case '*'
            return 1
    end
end

# Prints the name of the value that an option has.
function __postrider_value_of
    switch "$argv[1]"
)fish";

constexpr std::string_view fish_tail = R"fish(    set -l current (commandline -ct)
    set -l before (commandline -opc)
    set -e before[1]
    set -l config
    set -l typed
    set -l option
    set -l places
    set -l repeated
    set -l options
    # The words before the cursor, without options and their values.
    for word in $before
        if test -n "$option"
            contains -- $option -c --config
            and set config -c $word
            set option
        else if string match -q -- '--config=*' $word
            set config -c (string replace -- --config= '' $word)
        else if test -n (__postrider_value_of $word | string collect -a)
            set option $word
        else if not string match -q -- '-*' $word
            if test "$word" != help -o (count $typed) -gt 0
                set -a typed $word
            end
        end
    end
    if test -n "$option"
        __postrider_value (__postrider_value_of $option) $current
        return
    end
    if set -l parts (string match -r -- '^(--[a-z0-9-]+)=(.*)$' $current)
        printf "$parts[2]=%s\n" (__postrider_value (__postrider_value_of $parts[2]) $parts[3])
        return
    end
    set -l place
    for i in 2 1
        if test (count $typed) -ge $i
            and __postrider_command "$typed[1..$i]"
            set place (math (count $typed) - $i + 1)
            break
        end
    end
    if string match -q -- '-*' $current
        printf '%s\n' $options
        printf '%s\t%s\n' -c 'configuration file' --config 'configuration file' --json 'print JSON' \
            -h 'print help' --help 'print help' --version 'print the version'
    else if test -z "$place"
        switch (count $typed)
            case 0
                printf '%s\n' $first
            case 1
                string replace -rf -- '^'(string escape --style=regex -- $typed[1])' ' '' $second
        end
    else
        if test -n "$repeated" -a $place -gt (count $places)
            set place (count $places)
        end
        if test $place -le (count $places)
            for kind in (string split , -- $places[$place])
                __postrider_kind $kind
            end
        end
    end
end

complete -c postrider -f
complete -c postrider -a '(__postrider_complete)'
)fish";

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "'";
}

std::string described(std::string_view word, std::string_view description) {
    return fmt::format("{}\\t{}", fish_quoted(word), fish_quoted(description));
}

} // namespace

std::string fish_completion(std::span<const Command> commands) {
    std::string script(fish_head), first, second;
    for (const auto& command : commands) {
        script += fmt::format("        case {}\n            set places", fish_quoted(command.name));
        for (const auto& place : parameter_kinds(command, commands)) script += " " + fish_quoted(place);
        script += fmt::format("\n            set repeated{}\n            set options",
                              repeats_last_parameter(command) ? " yes" : "");
        for (const auto& option : command.options) script += " " + described(option.name, option.description);
        script += "\n";
        if (command.name.find(' ') != std::string_view::npos)
            second += fmt::format(" \\\n        {}", described(command.name, command.summary));
    }
    script += fish_middle;
    for (const auto& [name, value] : option_values(commands))
        script += fmt::format("        case {}\n            echo {}\n", fish_quoted(name), fish_quoted(value));
    script += "    end\nend\n\nfunction __postrider_complete\n";
    for (const auto& [word, description] : first_words(commands))
        first += fmt::format(" \\\n        {}", described(word, description));
    script += fmt::format("    set -l first{}\n    set -l second{}\n", first, second);
    script += fmt::format("    set -l filters {}=\n", fmt::join(decide::queue::Filter::keys, "= "));
    return script + std::string(fish_tail);
}

} // namespace postrider
