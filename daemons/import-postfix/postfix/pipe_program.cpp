#include "daemons/import-postfix/postfix/pipe_program.h"
#include "daemons/common/config/sections/recipients/mail_command.h"
#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace postrider::postfix {

using config::MailCommand;

namespace {

// pipe(8)'s names for what is known of a message, and ours.
constexpr std::pair<std::string_view, std::string_view> macros[] = {
    {"recipient", "{recipient}"}, {"original_recipient", "{original_recipient}"},
    {"sender", "{sender}"},       {"mailbox", "{local}"},
    {"user", "{user}"},           {"extension", "{extension}"},
    {"domain", "{domain}"},       {"nexthop", "{domain}"},
    {"queue_id", "{queue_id}"},   {"size", "{size}"},
};

bool is_macro_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

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
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(name, is_macro_letter) - name.begin());
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
    const bool odd_name = service.name.size() > MailCommand::longest_name ||
                          !std::ranges::all_of(service.name, [](char c) { return is_macro_letter(c) || c == '-'; });
    if (odd_name || program.run.size() > MailCommand::most_words ||
        std::ranges::any_of(program.run, [](const auto& word) { return word.size() > MailCommand::longest_word; })) {
        program.problem = odd_name ? "its name is not one for a section" : "argv has too many words, or a longer one";
        program.run.clear();
        return program;
    }
    if (program.run.empty() || !program.run.front().starts_with('/') || program.run.front().contains('{')) {
        program.problem = "argv does not begin with the absolute path of a program";
        program.run.clear();
    }
    return program;
}

} // namespace postrider::postfix
