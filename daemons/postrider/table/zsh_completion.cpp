// Completion for zsh, with descriptions.
#include "daemons/decide/queue/filter.h"
#include "daemons/postrider/table/completion.h"
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::string_view zsh_head = R"zsh(#compdef postrider
# postrider(1) for zsh, made from the command's own table of commands and options.

# What only the running system knows is asked of it.
_postrider_running() {
    case $1 in
        @id) postrider message list --limit 500 --json $config 2>/dev/null |
                 sed -n 's/.*"id":"\([0-9A-F]*\)".*/\1/p' ;;
        @domain) postrider queue list --json $config 2>/dev/null |
                 sed -n 's/.*"queue":"\([^"]*\)".*/\1/p' ;;
        @link) postrider link list --json $config 2>/dev/null |
                 sed -n 's/.*"link":"\([^"]*\)".*/\1/p' ;;
        @hook) postrider hook list --json $config 2>/dev/null |
                 sed -n 's/.*"hook":"\([^"]*\)".*/\1/p' ;;
    esac
}

_postrider_kind() { # adds the candidates of one kind
    case $1 in
        @id|@domain|@link|@hook) compadd -- ${(f)"$(_postrider_running $1)"} ;;
        @word) compadd -- all; compadd -S '' -- $filters ;;
        @name) case $typed[-1] in queue) _postrider_kind @domain ;; link) _postrider_kind @link ;; esac ;;
        @user) _users ;;
        @file) _files ;;
        @*) ;;
        *) compadd -- $1 ;;
    esac
}

_postrider_value() { # adds the values of an option that wants one of this kind
    case $1 in
        FILE) _files ;;
        DIRECTORY) _files -/ ;;
        ORDER) compadd -- oldest newest largest next ;;
    esac
}

_postrider_command() { # sets options, places, repeated
    case $1 in
)zsh";

constexpr std::string_view zsh_tail = R"zsh(    local option= command= repeated= word i place
    local -a config=() typed=() places=() options=() candidates=()
    # The words before the cursor, without options and their values.
    for ((i = 2; i < CURRENT; i++)); do
        word=$words[i]
        if [[ -n $option ]]; then
            [[ $option == (-c|--config) ]] && config=(-c ${(Q)word})
            option=
        elif [[ $word == --config=* ]]; then config=(-c ${(Q)word#--config=})
        elif [[ -n ${values[$word]-} ]]; then option=$word
        elif [[ $word != -* ]] && [[ $word != help || $#typed -gt 0 ]]; then typed+=($word)
        fi
    done
    word=$words[CURRENT]
    if [[ -z $option && $word == --*=* ]]; then
        option=${word%%=*}
        compset -P '*='
    fi
    if [[ -n $option ]]; then
        _postrider_value ${values[$option]-}
        return
    fi
    for i in 2 1; do
        if (($#typed >= i)) && _postrider_command "$typed[1,i]"; then
            command="$typed[1,i]"
            place=$(($#typed - i + 1))
            break
        fi
    done
    if [[ $word == -* ]]; then
        options+=('-c:configuration file' '--config:configuration file' '--json:print JSON' '-h:print help'
                  '--help:print help' '--version:print the version')
        _describe -o option options
    elif [[ -z $command ]]; then
        case $#typed in
            0) _describe -t commands command first ;;
            1) candidates=(${${(M)second:#"$typed[1] "*}#"$typed[1] "})
               (($#candidates)) && _describe -t commands command candidates ;;
        esac
    else
        [[ -n $repeated ]] && ((place > $#places)) && place=$#places
        for word in ${(s:,:)places[place]-}; do _postrider_kind $word; done
    fi
    return 0
}

# zsh makes the whole file the function when it is first needed.
if [[ ${funcstack[1]-} == _postrider ]]; then
    _postrider "$@"
else
    compdef _postrider postrider
fi
)zsh";

std::string zsh_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

} // namespace

std::string zsh_completion(std::span<const Command> commands) {
    std::string script(zsh_head), values, first, second;
    for (const auto& command : commands) {
        script += fmt::format("        {})\n            places=(", zsh_quoted(command.name));
        for (const auto& place : parameter_kinds(command, commands)) script += zsh_quoted(place) + " ";
        script += fmt::format(")\n            repeated={}\n            options=(",
                              repeats_last_parameter(command) ? "yes" : "");
        for (const auto& option : command.options)
            script += zsh_quoted(fmt::format("{}:{}", option.name, option.description)) + " ";
        script += ") ;;\n";
        if (command.name.find(' ') != std::string_view::npos)
            second += fmt::format("        {}\n", zsh_quoted(fmt::format("{}:{}", command.name, command.summary)));
    }
    for (const auto& [name, value] : option_values(commands)) values += fmt::format(" {} {}", name, zsh_quoted(value));
    for (const auto& [word, description] : first_words(commands))
        first += fmt::format("        {}\n", zsh_quoted(fmt::format("{}:{}", word, description)));
    script += "        *) return 1 ;;\n    esac\n}\n\n_postrider() {\n";
    script += fmt::format("    local -A values=({})\n    local -a first=(\n{}    )\n    local -a second=(\n{}    )\n",
                          values.substr(1), first, second);
    script += fmt::format("    local -a filters=({}=)\n", fmt::join(decide::queue::Filter::keys, "= "));
    return script + std::string(zsh_tail);
}

} // namespace postrider
