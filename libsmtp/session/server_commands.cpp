#include "libsmtp/session/server_commands.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <string>

namespace smtp {

namespace {

CommandResult refuse(int code, EnhancedStatus status, std::string_view text) {
    return Refuse{{code, status, std::string(text)}};
}

CommandResult refuse(Reply reply) { return Refuse{std::move(reply)}; }

CommandResult accept(int code, EnhancedStatus status, std::string text) {
    return Accept{{code, status, std::move(text)}};
}

CommandResult check_helo(const CommandContext&, std::string_view argument) {
    if (argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: HELO hostname");
    return Ask{Question::helo, event::Helo{false, std::string(argument)}};
}

CommandResult check_ehlo(const CommandContext&, std::string_view argument) {
    if (argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: EHLO hostname");
    return Ask{Question::helo, event::Helo{true, std::string(argument)}};
}

// "FROM:<a@b> …": what follows the keyword.
std::optional<std::string_view> after_keyword(std::string_view argument, std::string_view keyword) {
    if (!starts_with_ignoring_case(argument, keyword)) return {};
    return argument.substr(keyword.size());
}

// RFC 6531, 3.5. The code differs by command.
constexpr std::string_view smtputf8_missing = "Address is not ASCII, and MAIL had no SMTPUTF8";

CommandResult check_mail(const CommandContext& context, std::string_view argument) {
    const auto rest = after_keyword(argument, "FROM:");
    if (context.transaction.open) return refuse(503, {5, 5, 1}, "Error: nested MAIL command");
    if (!rest) return refuse(501, {5, 5, 4}, "Syntax: MAIL FROM:<address>");
    const auto split = split_path(*rest);
    if (!split) return refuse(501, {5, 1, 7}, "Bad sender address syntax: " + split.error().why);
    auto path = ReversePath::parse(split->inside);
    if (!path) return refuse(501, {5, 1, 7}, "Bad sender address syntax: " + path.error().why);
    auto parameters = parse_mail_parameters(split->parameters, context.offered);
    if (!parameters && !context.client.tls && context.settings.tls_capabilities.require_tls) {
        const auto under_tls = parse_mail_parameters(split->parameters, context.settings.tls_capabilities);
        if (under_tls && under_tls->require_tls)
            return refuse(530, {5, 7, 10}, "REQUIRETLS needs TLS: issue a STARTTLS command first");
    }
    if (!parameters) return refuse(parameters.error());
    constexpr std::uint64_t beyond_any_file = std::uint64_t{1} << 62;
    const auto most = context.settings.message_size != 0 ? context.settings.message_size : beyond_any_file;
    if (parameters->size.value_or(0) > most) return refuse(552, {5, 3, 4}, "Message size exceeds fixed limit");
    if (!parameters->smtputf8 && !is_ascii(argument)) return refuse(550, {5, 6, 7}, smtputf8_missing);
    return Ask{Question::mail, event::Mail{*std::move(path), *std::move(parameters)}};
}

CommandResult check_rcpt(const CommandContext& context, std::string_view argument) {
    const auto rest = after_keyword(argument, "TO:");
    if (!rest) return refuse(501, {5, 5, 4}, "Syntax: RCPT TO:<address>");
    if (context.transaction.chunking) return refuse(503, {5, 5, 1}, "Error: RCPT cannot follow BDAT");
    const auto split = split_path(*rest);
    if (!split) return refuse(501, {5, 1, 3}, "Bad recipient address syntax: " + split.error().why);
    auto path = ForwardPath::parse(split->inside);
    if (!path) return refuse(501, {5, 1, 3}, "Bad recipient address syntax: " + path.error().why);
    auto parameters = parse_rcpt_parameters(split->parameters, context.offered);
    if (!parameters) return refuse(parameters.error());
    if (!context.transaction.utf8 && !is_ascii(argument)) return refuse(553, {5, 6, 7}, smtputf8_missing);
    return Ask{Question::rcpt, event::Rcpt{*std::move(path), *std::move(parameters)}};
}

CommandResult check_data(const CommandContext& context, std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: DATA");
    if (context.transaction.chunking) return refuse(503, {5, 5, 1}, "Error: DATA cannot follow BDAT");
    if (context.transaction.recipients == 0) return refuse(554, {5, 5, 1}, "Error: no valid recipients");
    return Ask{Question::data, event::Data{}};
}

CommandResult check_rset(const CommandContext&, std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: RSET");
    return accept(250, {2, 0, 0}, "Ok");
}

CommandResult check_noop(const CommandContext&, std::string_view) { return accept(250, {2, 0, 0}, "Ok"); }

CommandResult check_vrfy(const CommandContext& context, std::string_view argument) {
    if (!context.offered.vrfy) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    constexpr std::string_view utf8 = " SMTPUTF8";
    const auto cut = argument.size() - std::min(argument.size(), utf8.size());
    const bool unicode = context.offered.smtputf8 && same_ignoring_case(argument.substr(cut), utf8);
    if (unicode) argument = argument.substr(0, cut);
    if (argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: VRFY address");
    if (!unicode && !is_ascii(argument))
        return refuse(553, {5, 6, 7}, "Address is not ASCII, and VRFY had no SMTPUTF8");
    return Ask{Question::vrfy, event::Vrfy{std::string(argument)}};
}

// RFC 1985.
CommandResult check_etrn(const CommandContext& context, std::string_view argument) {
    using Scope = event::Etrn::Scope;
    if (!context.offered.etrn) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    if (context.client.greeting != Greeting::ehlo) return refuse(503, {5, 5, 1}, "Error: send EHLO first");
    if (context.transaction.open) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    const auto reach = argument.starts_with('@') ? Scope::with_subdomains : Scope::domain;
    const auto name = argument.substr(argument.starts_with('@') || argument.starts_with('#') ? 1 : 0);
    if (!valid_domain(name) || !is_ascii(name)) return refuse(501, {5, 5, 4}, "Syntax: ETRN domain, @domain or #queue");
    return Ask{Question::etrn, event::Etrn{reach, lowered(name)}};
}

CommandResult check_help(const CommandContext& context, std::string_view) {
    std::string text = "Commands: EHLO HELO MAIL RCPT DATA";
    const auto add = [&text](bool offered, std::string_view command) {
        if (offered) text.append(1, ' ').append(command);
    };
    add(context.offered.chunking, "BDAT");
    add(true, "RSET NOOP");
    add(context.offered.vrfy, "VRFY");
    add(context.offered.etrn, "ETRN");
    add(true, "HELP");
    add(context.offered.starttls && !context.client.tls, "STARTTLS");
    add(!context.offered.auth.empty(), "AUTH");
    add(true, "QUIT");
    return accept(214, {2, 0, 0}, std::move(text));
}

CommandResult check_starttls(const CommandContext& context, std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: STARTTLS");
    if (context.client.tls) return refuse(503, {5, 5, 1}, "Error: TLS is active already");
    if (!context.offered.starttls) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    return Ask{Question::start_tls, event::StartTls{}};
}

bool is_listed(std::string_view word, std::string_view list) {
    while (!list.empty()) {
        const auto end = std::min(list.find(' '), list.size());
        if (same_ignoring_case(list.substr(0, end), word)) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

CommandResult check_auth(const CommandContext& context, std::string_view argument) {
    if (context.offered.auth.empty()) {
        if (!context.client.tls && !context.settings.tls_capabilities.auth.empty())
            return refuse(538, {5, 7, 11}, "Encryption required for authentication");
        return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    }
    if (context.client.greeting != Greeting::ehlo) return refuse(503, {5, 5, 1}, "Error: send EHLO first");
    if (context.client.authenticated) return refuse(503, {5, 5, 1}, "Error: already authenticated");
    if (context.transaction.open) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    const auto space = std::min(argument.find(' '), argument.size());
    const auto mechanism = argument.substr(0, space);
    auto initial = argument.substr(space);
    initial.remove_prefix(std::min(initial.find_first_not_of(' '), initial.size()));
    if (mechanism.empty() || initial.find(' ') != initial.npos)
        return refuse(501, {5, 5, 4}, "Syntax: AUTH mechanism [initial-response]");
    if (!is_listed(mechanism, context.offered.auth))
        return refuse(504, {5, 5, 4}, "Error: authentication mechanism is not offered");
    event::Auth auth;
    for (char c : mechanism) auth.mechanism += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    if (!initial.empty()) auth.initial.emplace(initial == "=" ? std::string() : std::string(initial));
    return Ask{Question::auth, std::move(auth)};
}

CommandResult check_xclient(const CommandContext& context, std::string_view argument) {
    if (!context.rights.xclient) return refuse(550, {5, 7, 0}, "Error: insufficient authorization");
    if (context.transaction.open) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    auto attributes = parse_client_attributes(ClientCommand::xclient, argument);
    if (!attributes) return refuse(attributes.error());
    return Ask{Question::xclient, event::Xclient{*std::move(attributes)}};
}

CommandResult check_xforward(const CommandContext& context, std::string_view argument) {
    if (!context.rights.xforward) return refuse(550, {5, 7, 0}, "Error: insufficient authorization");
    if (context.transaction.open) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    auto attributes = parse_client_attributes(ClientCommand::xforward, argument);
    if (!attributes) return refuse(attributes.error());
    return Ask{Question::xforward, event::Xforward{*std::move(attributes)}};
}

CommandResult check_quit(const CommandContext&, std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: QUIT");
    return accept(221, {2, 0, 0}, "Bye");
}

using Needs = Command::Needs;
using Tls = Command::Tls;
using Junk = Command::Junk;

constexpr Command commands[] = {
    {"EHLO", Verb::ehlo, Needs::nothing, Tls::not_needed, Junk::yes, check_ehlo},
    {"HELO", Verb::helo, Needs::nothing, Tls::not_needed, Junk::yes, check_helo},
    {"MAIL", Verb::mail, Needs::greeting, Tls::where_required, Junk::no, check_mail},
    {"RCPT", Verb::rcpt, Needs::mail, Tls::where_required, Junk::no, check_rcpt},
    {"DATA", Verb::data, Needs::mail, Tls::where_required, Junk::no, check_data},
    {"BDAT", Verb::bdat, Needs::nothing, Tls::not_needed, Junk::no, nullptr},
    {"RSET", Verb::rset, Needs::nothing, Tls::not_needed, Junk::yes, check_rset},
    {"NOOP", Verb::noop, Needs::nothing, Tls::not_needed, Junk::yes, check_noop},
    {"VRFY", Verb::vrfy, Needs::greeting, Tls::where_required, Junk::yes, check_vrfy},
    {"ETRN", Verb::etrn, Needs::greeting, Tls::where_required, Junk::yes, check_etrn},
    {"HELP", Verb::help, Needs::nothing, Tls::not_needed, Junk::yes, check_help},
    {"STARTTLS", Verb::starttls, Needs::greeting, Tls::not_needed, Junk::yes, check_starttls},
    {"AUTH", Verb::auth, Needs::greeting, Tls::where_required, Junk::yes, check_auth},
    {"XCLIENT", Verb::xclient, Needs::nothing, Tls::where_required, Junk::no, check_xclient},
    {"XFORWARD", Verb::xforward, Needs::nothing, Tls::where_required, Junk::yes, check_xforward},
    {"QUIT", Verb::quit, Needs::nothing, Tls::not_needed, Junk::no, check_quit},
};

bool lacks_tls(const CommandContext& context) {
    return !context.client.tls && context.settings.tls == ServerSettings::Tls::required;
}

} // namespace

std::pair<std::string_view, std::string_view> split_command(std::string_view line) {
    const auto space = std::min(line.find_first_of(" \t"), line.size());
    auto argument = line.substr(space);
    argument.remove_prefix(std::min(argument.find_first_not_of(" \t"), argument.size()));
    return {line.substr(0, space), argument.substr(0, argument.find_last_not_of(" \t") + 1)};
}

const Command* find_command(std::string_view name) {
    const auto found = std::ranges::find_if(commands, [&](auto& each) { return same_ignoring_case(each.name, name); });
    return found == std::end(commands) ? nullptr : found;
}

bool is_http_method(std::string_view name) {
    constexpr std::string_view methods[] = {"GET",     "POST",  "HEAD",  "PUT", "DELETE",
                                            "CONNECT", "TRACE", "PATCH", "PRI", "OPTIONS"};
    return std::ranges::any_of(methods, [&](auto method) { return same_ignoring_case(name, method); });
}

CommandResult check_command(const Command& command, const CommandContext& context, std::string_view argument) {
    if (command.needs >= Needs::greeting && context.client.greeting == Greeting::none)
        return refuse(503, {5, 5, 1}, "Error: send HELO/EHLO first");
    if (command.tls == Tls::where_required && lacks_tls(context))
        return refuse(530, {5, 7, 0}, "Must issue a STARTTLS command first");
    if (command.needs == Needs::mail && !context.transaction.open)
        return refuse(503, {5, 5, 1}, "Error: need MAIL command");
    return command.check(context, argument);
}

std::optional<Chunk> parse_chunk(std::string_view argument) {
    const auto [number, last] = split_command(argument);
    const auto size = parse_number(number);
    if (!size || (!last.empty() && !same_ignoring_case(last, "LAST"))) return {};
    return Chunk{*size, !last.empty()};
}

std::optional<Reply> refusal_of_chunk(const CommandContext& context, const Chunk& chunk, std::uint64_t received) {
    if (context.client.greeting == Greeting::none) return Reply{503, {5, 5, 1}, "Error: send HELO/EHLO first"};
    if (lacks_tls(context)) return Reply{530, {5, 7, 0}, "Must issue a STARTTLS command first"};
    if (!context.transaction.open) return Reply{503, {5, 5, 1}, "Error: need MAIL command"};
    if (context.transaction.recipients == 0) return Reply{554, {5, 5, 1}, "Error: no valid recipients"};
    const auto most = context.settings.message_size;
    if (most != 0 && chunk.size > most - std::min(received, most))
        return Reply{552, {5, 3, 4}, "Message size exceeds fixed limit"};
    return {};
}

} // namespace smtp
