#include "daemons/import-postfix/conversion/programs.h"
#include "daemons/import-postfix/conversion/tables.h"
#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

namespace postrider {

using postfix::Service;
using Kind = SettingResult::Kind;

namespace {

// pipe(8)'s names for what is known of a message, and ours.
constexpr std::pair<std::string_view, std::string_view> macros[] = {
    {"recipient", "{recipient}"}, {"original_recipient", "{original_recipient}"},
    {"sender", "{sender}"},       {"mailbox", "{local}"},
    {"user", "{user}"},           {"extension", "{extension}"},
    {"domain", "{domain}"},       {"nexthop", "{domain}"},
    {"queue_id", "{queue_id}"},   {"size", "{size}"},
};

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// "$name", "${name}", "$(name)" at the beginning of `text`, and its length; 0: there is none.
std::pair<std::string_view, std::size_t> macro_at(std::string_view text) {
    if (text.size() < 2 || text[0] != '$') return {};
    const char open = text[1];
    if (open == '{' || open == '(') {
        const auto close = text.find(open == '{' ? '}' : ')');
        if (close == text.npos) return {};
        return {text.substr(2, close - 2), close + 1};
    }
    const auto name = text.substr(1);
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(name, is_name) - name.begin());
    return {name.substr(0, end), end == 0 ? 0 : end + 1};
}

// One word; the macro that has no counterpart is the error.
std::expected<std::string, std::string> our_word(std::string_view word, PipeProgram& program) {
    std::string out;
    while (!word.empty()) {
        if (word.starts_with("$$")) {
            out += '$';
            word.remove_prefix(2);
            continue;
        }
        const auto [name, length] = macro_at(word);
        if (length == 0) {
            if (word.front() == '{') return std::unexpected(std::string("{"));
            out += word.front();
            word.remove_prefix(1);
            continue;
        }
        const auto* known = std::ranges::find(macros, name, &std::pair<std::string_view, std::string_view>::first);
        if (known == std::end(macros)) return std::unexpected(fmt::format("${{{}}}", name));
        if (name == "nexthop")
            program.remarks.emplace_back("${nexthop} is the recipient's domain, whatever the transport names after it");
        out += known->second;
        word.remove_prefix(length);
    }
    return out;
}

// "DRhu": what each letter asks for.
void read_flags(std::string_view flags, PipeProgram& program) {
    for (const char flag : flags) {
        if (flag == 'F') program.from_line = true;
        if (flag == 'B' || flag == '.' || flag == '>')
            program.remarks.push_back(fmt::format("flags={}: the message is not changed in this way", flag));
        if (flag == 'h' || flag == 'u')
            program.remarks.push_back(fmt::format("flags={}: only {{domain}} is in lower case", flag));
    }
}

} // namespace

PipeProgram pipe_program(const Service& service) {
    PipeProgram program;
    bool words = false;
    for (std::string_view argument : service.arguments) {
        if (argument.starts_with("argv=")) {
            words = true;
            argument.remove_prefix(5);
        }
        if (words) {
            auto word = our_word(argument, program);
            if (!word) {
                program.problem = fmt::format("{} in argv has no counterpart", word.error());
                program.run.clear();
                return program;
            }
            program.run.push_back(std::move(*word));
            continue;
        }
        const auto equals = argument.find('=');
        const auto name = argument.substr(0, equals);
        const auto value = equals == argument.npos ? std::string_view() : argument.substr(equals + 1);
        if (name == "user")
            program.user = value.substr(0, value.find(':'));
        else if (name == "flags")
            read_flags(value, program);
        else if (name == "null_sender")
            program.null_sender = value;
        else if (name == "directory")
            program.remarks.push_back(fmt::format("directory={}: the program starts in its user's home", value));
        else if (name == "eol" && value != "\\n")
            program.remarks.push_back(fmt::format("eol={}: lines end with LF", value));
        else if (name == "size")
            program.remarks.push_back(fmt::format("size={}: larger mail is not rejected for this program", value));
        else if (name == "chroot")
            program.remarks.push_back(fmt::format("chroot={} is not carried over", value));
    }
    if (program.run.empty() || !program.run.front().starts_with('/') || program.run.front().contains('{')) {
        program.problem = "argv does not begin with the absolute path of a program";
        program.run.clear();
    }
    return program;
}

bool is_used_transport(Import& import, const Service& service) {
    const auto is_it = [&](std::string_view value) {
        return value == service.name || value.starts_with(service.name + ":");
    };
    for (const auto* name : {"mailbox_transport", "virtual_transport", "default_transport", "relay_transport",
                             "local_transport", "fallback_transport", "smtpd_proxy_filter"})
        if (is_it(import.value(name))) return true;
    return std::ranges::any_of(import.words("transport_maps"), [&](const auto& word) {
        const auto type = postfix::parse_typed(word);
        if (!type || !import.environment.exists(import.resolved_path(type->name))) return false;
        const auto entries = table_entries(import, "transport_maps", word);
        return entries && std::ranges::any_of(*entries, [&](const auto& entry) { return is_it(entry.value); });
    });
}

std::vector<std::string> imported_programs(Import& import) {
    std::vector<std::string> out;
    for (const auto& service : import.services)
        if (service.command == "pipe" && service.type == "unix" && is_used_transport(import, service) &&
            !pipe_program(service).run.empty())
            out.push_back(service.name);
    return out;
}

std::string program_of_transport(Import& import, std::string_view transport) {
    const auto all = imported_programs(import);
    const auto found = std::ranges::find(all, transport.substr(0, transport.find(':')));
    return found == all.end() ? std::string() : *found;
}

void import_program(Import& import, const Service& service) {
    const auto program = pipe_program(service);
    if (program.run.empty())
        return import.record_service(service, Kind::unsupported,
                                     fmt::format("{}: write a [command.{}]", program.problem, service.name));
    const auto section = fmt::format("command.{}", service.name);
    const auto from = fmt::format("master.cf: {}", service.name);
    import.draft.set(section + ".run", toml(program.run), from);
    if (!program.user.empty()) import.draft.set(section + ".user", toml(program.user), from);
    if (program.from_line) import.draft.set(section + ".from_line", toml(true), from);
    if (program.null_sender != "MAILER-DAEMON")
        import.draft.set(section + ".null_sender", toml(program.null_sender), from);
    if (const auto limit = service.name + "_time_limit"; import.given(limit))
        if (const auto seconds = import.seconds(limit))
            import.set(section + ".timeout", toml(fmt::format("{}s", *seconds)), limit);
    import.record_service(service, program.remarks.empty() ? Kind::converted : Kind::with_remark,
                          fmt::format("{}", fmt::join(program.remarks, "; ")));
}

} // namespace postrider
