// Completion for bash, and what the parameters of a command accept.
#include "daemons/postrider/table/completion.h"
#include "daemons/decide/queue/filter.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::string_view bash_head =
    R"bash(# postrider(1) for bash, made from the command's own table of commands and options.

# Candidates of one kind, one a line; what only the running system knows is asked of it.
_postrider_kind() {
    case $1 in
        @id) postrider message list --limit 500 --json "${config[@]}" 2>/dev/null |
                 sed -n 's/.*"id":"\([0-9A-F]*\)".*/\1/p' ;;
        @word) printf '%s\n' all "${_postrider_words[@]}" ;;
        @domain) postrider queue list --json "${config[@]}" 2>/dev/null |
                 sed -n 's/.*"queue":"\([^"]*\)".*/\1/p' ;;
        @link) postrider link list --json "${config[@]}" 2>/dev/null |
                 sed -n 's/.*"link":"\([^"]*\)".*/\1/p' ;;
        @hook) postrider hook list --json "${config[@]}" 2>/dev/null |
                   sed -n 's/.*"hook":"\([^"]*\)".*/\1/p' ;;
        @name) case ${words[-1]} in queue) _postrider_kind @domain ;; link) _postrider_kind @link ;; esac ;;
        @user) compgen -u ;;
        @*) ;;
        *) printf '%s\n' "$1" ;;
    esac
}

_postrider_value() { # of an option that wants one of this kind
    case $1 in
        FILE) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        DIRECTORY) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
        ORDER) mapfile -t COMPREPLY < <(compgen -W 'oldest newest largest next' -- "$current") ;;
    esac
}

_postrider_command() { # sets options, places, repeated
    case $1 in
)bash";

constexpr std::string_view bash_middle = R"bash(        *) return 1 ;;
    esac
}

_postrider_kind_of_option() {
    case $1 in
)bash";

constexpr std::string_view bash_tail = R"bash(    esac
}

_postrider() {
    local current=${COMP_WORDS[COMP_CWORD]} option= options= repeated= word command place i
    local -a config=() words=() places=() candidates=()
    COMPREPLY=()
    # The words before the cursor, without options and their values; "--reason=text" comes as three words.
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $option && $word == = ]]; then continue
        elif [[ $option ]]; then
            [[ $option == -c || $option == --config ]] && config=(-c "$word")
            option=
        elif [[ $(_postrider_kind_of_option "$word") ]]; then option=$word
        elif [[ $word != -* && ! ( $word == help && ${#words[@]} == 0 ) ]]; then words+=("$word")
        fi
    done
    [[ $current == = ]] && current=
    if [[ $option ]]; then
        _postrider_value "$(_postrider_kind_of_option "$option")"
        return
    fi
    command=
    for ((i = 2; i > 0; i--)); do
        if ((${#words[@]} >= i)) && _postrider_command "${words[*]:0:i}"; then
            command=${words[*]:0:i}
            place=$((${#words[@]} - i))
            break
        fi
    done
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options -c --config --json -h --help --version" -- "$current")
        return
    fi
    if [[ ! $command ]]; then
        local known
        for known in "${_postrider_commands[@]}"; do
            if ((${#words[@]} == 0)); then candidates+=("${known%% *}")
            elif ((${#words[@]} == 1)) && [[ $known == "${words[0]} "* ]]; then candidates+=("${known#* }")
            fi
        done
    else
        ((place >= ${#places[@]})) && [[ $repeated ]] && place=$((${#places[@]} - 1))
        local -a kinds=()
        IFS=, read -r -a kinds <<<"${places[place]-}"
        for word in "${kinds[@]}"; do
            if [[ $word == @file ]]; then _postrider_value FILE; return; fi
            mapfile -t -O ${#candidates[@]} candidates < <(_postrider_kind "$word")
        done
    fi
    mapfile -t COMPREPLY < <(compgen -W "${candidates[*]}" -- "$current" | sort -u)
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -F _postrider postrider
)bash";

bool in_capitals(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    return fmt::format("{}", fmt::join(words, between));
}

} // namespace

std::vector<std::string> parameter_kinds(std::string_view synopsis) {
    constexpr std::string_view also_all = ", or all";
    const bool all = synopsis.ends_with(also_all);
    if (all) synopsis.remove_suffix(also_all.size());
    std::vector<std::string> places;
    while (!synopsis.empty()) {
        const auto place = synopsis.substr(0, synopsis.find(' '));
        synopsis.remove_prefix(std::min(synopsis.size(), place.size() + 1));
        std::vector<std::string> kinds;
        for (std::size_t at = 0; at <= place.size();) {
            auto word = place.substr(at, place.find('|', at) - at);
            at += word.size() + 1;
            while (word.ends_with(']') || word.ends_with('.')) word.remove_suffix(1);
            while (word.starts_with('[')) word.remove_prefix(1);
            if (in_capitals(word)) {
                std::string kind = "@";
                for (const char c : word) kind += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
                kinds.push_back(std::move(kind));
            } else if (word == "-" || std::ranges::all_of(word, [](unsigned char c) { return std::islower(c) != 0; })) {
                if (!word.empty()) kinds.emplace_back(word);
            }
        }
        if (all && places.empty()) kinds.emplace_back("all");
        places.push_back(joined(kinds, ","));
    }
    return places;
}

std::vector<std::string> parameter_kinds(const Command& command, std::span<const Command> commands) {
    auto places = parameter_kinds(command.parameters);
    for (const auto& other : commands) {
        const auto begin = command.name.size();
        if (other.name.size() <= begin || !other.name.starts_with(command.name) || other.name[begin] != ' ') continue;
        if (places.empty()) places.emplace_back();
        places.front() += fmt::format("{}{}", places.front().empty() ? "" : ",", other.name.substr(begin + 1));
    }
    return places;
}

std::map<std::string_view, std::string_view> option_values(std::span<const Command> commands) {
    std::map<std::string_view, std::string_view> values = {{"-c", "FILE"}, {"--config", "FILE"}};
    for (const auto& command : commands)
        for (const auto& option : command.options)
            if (!option.value.empty()) values.emplace(option.name, option.value);
    return values;
}

bool repeats_last_parameter(const Command& command) { return command.parameters.find("...") != std::string_view::npos; }

std::vector<FirstWord> first_words(std::span<const Command> commands) {
    std::vector<FirstWord> found;
    for (const auto& command : commands) {
        const auto space = command.name.find(' ');
        const auto word = command.name.substr(0, space);
        if (found.empty() || found.back().word != word) found.push_back({word, {}});
        auto& description = found.back().description;
        if (space == std::string_view::npos)
            description = command.summary;
        else
            fmt::format_to(std::back_inserter(description), "{}{}", description.empty() ? "" : ", ",
                           command.name.substr(space + 1));
    }
    return found;
}

std::string bash_completion(std::span<const Command> commands) {
    std::string script(bash_head);
    std::vector<std::string> names;
    for (const auto& command : commands) {
        std::vector<std::string> options;
        for (const auto& option : command.options) options.emplace_back(option.name);
        std::string places;
        for (const auto& place : parameter_kinds(command, commands))
            places += fmt::format("{}'{}'", places.empty() ? "" : " ", place);
        script += fmt::format("        '{}') options='{}' places=({}) repeated={} ;;\n", command.name,
                              joined(options, " "), places, repeats_last_parameter(command) ? "yes" : "");
        names.push_back(fmt::format("'{}'", command.name));
    }
    script += bash_middle;
    for (const auto& [name, value] : option_values(commands))
        script += fmt::format("        {}) echo '{}' ;;\n", name, value);
    script += bash_tail;
    script += fmt::format("_postrider_commands=({})\n", joined(names, " "));
    return script + fmt::format("_postrider_words=({}=)\n", fmt::join(decide::queue::Filter::keys, "= "));
}

} // namespace postrider
