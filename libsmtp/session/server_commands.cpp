// The commands of a ServerSession: the table, and one handler each.
#include "libsmtp/session/server_session.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>

namespace smtp {

struct ServerSession::Command {
    enum class Needs : std::uint8_t { nothing, greeting, mail };
    enum class Tls : std::uint8_t { not_needed, where_required };
    std::string_view name;
    Verb verb;
    Needs needs;
    Tls tls;
    std::optional<ServerEvent> (ServerSession::*run)(std::string_view argument);
};

const ServerSession::Command ServerSession::commands[] = {
    {"EHLO", Verb::ehlo, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_helo},
    {"HELO", Verb::helo, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_helo},
    {"MAIL", Verb::mail, Command::Needs::greeting, Command::Tls::where_required, &ServerSession::on_mail},
    {"RCPT", Verb::rcpt, Command::Needs::mail, Command::Tls::where_required, &ServerSession::on_rcpt},
    {"DATA", Verb::data, Command::Needs::mail, Command::Tls::where_required, &ServerSession::on_data},
    // Whatever is wrong with BDAT, its bytes must not be taken for commands: it looks for itself.
    {"BDAT", Verb::bdat, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_bdat},
    {"RSET", Verb::rset, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_rset},
    {"NOOP", Verb::noop, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_noop},
    {"VRFY", Verb::vrfy, Command::Needs::greeting, Command::Tls::where_required, &ServerSession::on_vrfy},
    {"ETRN", Verb::etrn, Command::Needs::greeting, Command::Tls::where_required, &ServerSession::on_etrn},
    {"HELP", Verb::help, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_help},
    {"STARTTLS", Verb::starttls, Command::Needs::greeting, Command::Tls::not_needed,
     &ServerSession::on_starttls},
    {"AUTH", Verb::auth, Command::Needs::greeting, Command::Tls::where_required, &ServerSession::on_auth},
    {"XCLIENT", Verb::xclient, Command::Needs::nothing, Command::Tls::where_required,
     &ServerSession::on_xclient},
    {"XFORWARD", Verb::xforward, Command::Needs::nothing, Command::Tls::where_required,
     &ServerSession::on_xforward},
    {"QUIT", Verb::quit, Command::Needs::nothing, Command::Tls::not_needed, &ServerSession::on_quit},
};

// What a web browser, a proxy or its scanner says first.
static bool is_http(std::string_view verb) {
    constexpr std::string_view methods[] = {"GET",     "POST",  "HEAD",  "PUT", "DELETE",
                                            "CONNECT", "TRACE", "PATCH", "PRI", "OPTIONS"};
    return std::ranges::any_of(methods, [&](auto method) { return same_ignoring_case(verb, method); });
}

std::optional<ServerEvent> ServerSession::run(std::string_view line) {
    const auto space = std::min(line.find_first_of(" \t"), line.size());
    const auto name = line.substr(0, space);
    auto argument = line.substr(space);
    argument.remove_prefix(std::min(argument.find_first_not_of(" \t"), argument.size()));
    argument = argument.substr(0, argument.find_last_not_of(" \t") + 1);

    const auto command =
        std::ranges::find_if(commands, [&](auto& c) { return same_ignoring_case(c.name, name); });
    if (command == std::end(commands)) {
        if (is_http(name)) return not_smtp(line);
        note_unknown();
        return ask(Question::unknown, event::Unknown{printable(name, 64), std::string(argument)});
    }
    // A new greeting ends the transaction; its notice comes first, and the line is read again after it.
    const bool greets = command->verb == Verb::ehlo || command->verb == Verb::helo;
    if (greets && in_mail_ && !argument.empty()) {
        begin_ = line_begin_;
        end_transaction();
        return {};
    }
    verb_ = command->verb;
    after_content_ = false;
    ++count(verb_).total;
    if (command->needs >= Command::Needs::greeting && greeting_ == Greeting::none) {
        refuse(503, {5, 5, 1}, "Error: send HELO/EHLO first");
        return {};
    }
    if (command->tls == Command::Tls::where_required && !tls_ &&
        settings_->tls == ServerSettings::Tls::required) {
        refuse(530, {5, 7, 0}, "Must issue a STARTTLS command first");
        return {};
    }
    if (command->needs == Command::Needs::mail && !in_mail_) {
        refuse(503, {5, 5, 1}, "Error: need MAIL command");
        return {};
    }
    return (this->*command->run)(argument);
}

std::optional<ServerEvent> ServerSession::on_helo(std::string_view argument) {
    const bool extended = verb_ == Verb::ehlo;
    if (argument.empty()) {
        refuse(501, {5, 5, 4}, extended ? "Syntax: EHLO hostname" : "Syntax: HELO hostname");
        return {};
    }
    pending_helo_ = argument;
    count_junk();
    if (state_ == State::over) return {};
    return ask(Question::helo, event::Helo{extended, pending_helo_});
}

// "FROM:<a@b> …": what follows the keyword.
static std::optional<std::string_view> after_keyword(std::string_view argument, std::string_view keyword) {
    if (!starts_with_ignoring_case(argument, keyword)) return {};
    return argument.substr(keyword.size());
}

// RFC 6531, 3.5. The code differs by command.
static constexpr std::string_view smtputf8_missing = "Address is not ASCII, and MAIL had no SMTPUTF8";

std::optional<ServerEvent> ServerSession::on_mail(std::string_view argument) {
    const auto rest = after_keyword(argument, "FROM:");
    if (in_mail_) return refuse(503, {5, 5, 1}, "Error: nested MAIL command");
    if (!rest) return refuse(501, {5, 5, 4}, "Syntax: MAIL FROM:<address>");
    const auto split = split_path(*rest);
    if (!split) return refuse(501, {5, 1, 7}, "Bad sender address syntax: " + split.error().why);
    auto path = ReversePath::parse(split->inside);
    if (!path) return refuse(501, {5, 1, 7}, "Bad sender address syntax: " + path.error().why);
    auto parameters = parse_mail_parameters(split->parameters, offered());
    if (!parameters && !tls_ && settings_->tls_capabilities.require_tls) {
        const auto under_tls = parse_mail_parameters(split->parameters, settings_->tls_capabilities);
        if (under_tls && under_tls->require_tls)
            return refuse(530, {5, 7, 10}, "REQUIRETLS needs TLS: issue a STARTTLS command first");
    }
    if (!parameters) return refuse(parameters.error());
    constexpr std::uint64_t beyond_any_file = std::uint64_t{1} << 62;
    const auto most = settings_->message_size != 0 ? settings_->message_size : beyond_any_file;
    if (parameters->size.value_or(0) > most)
        return refuse(552, {5, 3, 4}, "Message size exceeds fixed limit");
    if (!parameters->smtputf8 && !is_ascii(argument)) return refuse(550, {5, 6, 7}, smtputf8_missing);
    utf8_ = parameters->smtputf8;
    return ask(Question::mail, event::Mail{*std::move(path), *std::move(parameters)});
}

std::optional<ServerEvent> ServerSession::on_rcpt(std::string_view argument) {
    const auto rest = after_keyword(argument, "TO:");
    if (!rest) return refuse(501, {5, 5, 4}, "Syntax: RCPT TO:<address>");
    if (chunking_) return refuse(503, {5, 5, 1}, "Error: RCPT cannot follow BDAT");
    const auto split = split_path(*rest);
    if (!split) return refuse(501, {5, 1, 3}, "Bad recipient address syntax: " + split.error().why);
    auto path = ForwardPath::parse(split->inside);
    if (!path) return refuse(501, {5, 1, 3}, "Bad recipient address syntax: " + path.error().why);
    auto parameters = parse_rcpt_parameters(split->parameters, offered());
    if (!parameters) return refuse(parameters.error());
    if (!utf8_ && !is_ascii(argument)) return refuse(553, {5, 6, 7}, smtputf8_missing);
    if (recipients_ >= settings_->recipients) return too_many_recipients();
    return ask(Question::rcpt, event::Rcpt{*std::move(path), *std::move(parameters)});
}

// No error at first: the client sends the rest in a further transaction. One that names as many again is not listening.
std::optional<ServerEvent> ServerSession::too_many_recipients() {
    constexpr std::uint32_t at_least = 1000;
    refuse(452, {4, 5, 3}, "Error: too many recipients");
    if (++overshoot_ > std::max(settings_->recipients, at_least)) count_error();
    return {};
}

std::optional<ServerEvent> ServerSession::on_data(std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: DATA");
    if (chunking_) return refuse(503, {5, 5, 1}, "Error: DATA cannot follow BDAT");
    if (recipients_ == 0) return refuse(554, {5, 5, 1}, "Error: no valid recipients");
    return ask(Question::data, event::Data{});
}

std::optional<ServerEvent> ServerSession::on_bdat(std::string_view argument) {
    const auto space = std::min(argument.find_first_of(" \t"), argument.size());
    auto last = argument.substr(space);
    last.remove_prefix(std::min(last.find_first_not_of(" \t"), last.size()));
    const auto size = parse_number(argument.substr(0, space));
    if (!offered().chunking) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    if (!size || (!last.empty() && !same_ignoring_case(last, "LAST"))) { // who knows what comes next
        refuse(501, {5, 5, 4}, "Syntax: BDAT count [LAST]");
        if (state_ != State::over) end(event::Disconnect::Cause::turned_away);
        return {};
    }
    chunk_size_ = chunk_left_ = *size;
    last_chunk_ = !last.empty();
    if (greeting_ == Greeting::none) return skip_chunk({503, {5, 5, 1}, "Error: send HELO/EHLO first"});
    if (!tls_ && settings_->tls == ServerSettings::Tls::required)
        return skip_chunk({530, {5, 7, 0}, "Must issue a STARTTLS command first"});
    if (!in_mail_) return skip_chunk({503, {5, 5, 1}, "Error: need MAIL command"});
    if (recipients_ == 0) return skip_chunk({554, {5, 5, 1}, "Error: no valid recipients"});
    if (settings_->message_size != 0 &&
        *size > settings_->message_size - std::min(content_, settings_->message_size))
        return skip_chunk({552, {5, 3, 4}, "Message size exceeds fixed limit"});
    if (!chunking_) return ask(Question::data, event::Data{});
    go_on_with_content();
    return {};
}

std::optional<ServerEvent> ServerSession::on_rset(std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: RSET");
    end_transaction();
    accept(250, {2, 0, 0}, "Ok");
    count_junk();
    return {};
}

std::optional<ServerEvent> ServerSession::on_noop(std::string_view) {
    accept(250, {2, 0, 0}, "Ok");
    count_junk();
    return {};
}

std::optional<ServerEvent> ServerSession::on_vrfy(std::string_view argument) {
    if (!offered().vrfy) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    constexpr std::string_view utf8 = " SMTPUTF8";
    const auto cut = argument.size() - std::min(argument.size(), utf8.size());
    const bool unicode = offered().smtputf8 && same_ignoring_case(argument.substr(cut), utf8);
    if (unicode) argument = argument.substr(0, cut);
    if (argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: VRFY address");
    if (!unicode && !is_ascii(argument))
        return refuse(553, {5, 6, 7}, "Address is not ASCII, and VRFY had no SMTPUTF8");
    std::string address(argument);
    count_junk();
    if (state_ == State::over) return {};
    return ask(Question::vrfy, event::Vrfy{std::move(address)});
}

// RFC 1985.
std::optional<ServerEvent> ServerSession::on_etrn(std::string_view argument) {
    using Scope = event::Etrn::Scope;
    if (!offered().etrn) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    if (greeting_ != Greeting::ehlo) return refuse(503, {5, 5, 1}, "Error: send EHLO first");
    if (in_mail_) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    const auto reach = argument.starts_with('@') ? Scope::with_subdomains : Scope::domain;
    const auto name = argument.substr(argument.starts_with('@') || argument.starts_with('#') ? 1 : 0);
    if (!valid_domain(name) || !is_ascii(name))
        return refuse(501, {5, 5, 4}, "Syntax: ETRN domain, @domain or #queue");
    count_junk();
    if (state_ == State::over) return {};
    return ask(Question::etrn, event::Etrn{reach, lowered(name)});
}

std::optional<ServerEvent> ServerSession::on_help(std::string_view) {
    std::string text = "Commands: EHLO HELO MAIL RCPT DATA";
    const auto add = [&text](bool offered, std::string_view command) {
        if (offered) text.append(1, ' ').append(command);
    };
    add(offered().chunking, "BDAT");
    add(true, "RSET NOOP");
    add(offered().vrfy, "VRFY");
    add(offered().etrn, "ETRN");
    add(true, "HELP");
    add(offered().starttls && !tls_, "STARTTLS");
    add(!offered().auth.empty(), "AUTH");
    add(true, "QUIT");
    accept(214, {2, 0, 0}, text);
    count_junk();
    return {};
}

std::optional<ServerEvent> ServerSession::on_starttls(std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: STARTTLS");
    if (tls_) return refuse(503, {5, 5, 1}, "Error: TLS is active already");
    if (!offered().starttls) return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    count_junk();
    if (state_ == State::over) return {};
    return ask(Question::start_tls, event::StartTls{});
}

static bool is_listed(std::string_view word, std::string_view list) {
    while (!list.empty()) {
        const auto end = std::min(list.find(' '), list.size());
        if (same_ignoring_case(list.substr(0, end), word)) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

std::optional<ServerEvent> ServerSession::on_auth(std::string_view argument) {
    if (offered().auth.empty()) {
        if (!tls_ && !settings_->tls_capabilities.auth.empty())
            return refuse(538, {5, 7, 11}, "Encryption required for authentication");
        return refuse(502, {5, 5, 1}, "Error: command is not offered here");
    }
    if (greeting_ != Greeting::ehlo) return refuse(503, {5, 5, 1}, "Error: send EHLO first");
    if (authenticated_) return refuse(503, {5, 5, 1}, "Error: already authenticated");
    if (in_mail_) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    const auto space = std::min(argument.find(' '), argument.size());
    const auto mechanism = argument.substr(0, space);
    auto initial = argument.substr(space);
    initial.remove_prefix(std::min(initial.find_first_not_of(' '), initial.size()));
    if (mechanism.empty() || initial.find(' ') != initial.npos)
        return refuse(501, {5, 5, 4}, "Syntax: AUTH mechanism [initial-response]");
    if (!is_listed(mechanism, offered().auth))
        return refuse(504, {5, 5, 4}, "Error: authentication mechanism is not offered");
    count_junk();
    if (state_ == State::over) return {};
    event::Auth auth;
    for (char c : mechanism) auth.mechanism += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    if (!initial.empty()) auth.initial.emplace(initial == "=" ? std::string() : std::string(initial));
    return ask(Question::auth, std::move(auth));
}

std::optional<ServerEvent> ServerSession::on_xclient(std::string_view argument) {
    if (!rights_.xclient) return refuse(550, {5, 7, 0}, "Error: insufficient authorization");
    if (in_mail_) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    auto attributes = parse_client_attributes(ClientCommand::xclient, argument);
    if (!attributes) return refuse(attributes.error());
    const auto text_of = [](const ClientAttributes::Attribute& a) { return a ? a->value : std::string(); };
    pending_helo_ = text_of(attributes->helo);
    described_greeting_ = pending_helo_.empty()                      ? Greeting::none
                          : text_of(attributes->protocol) == "SMTP" ? Greeting::helo
                                                                     : Greeting::ehlo;
    described_login_ = !text_of(attributes->login).empty();
    return ask(Question::xclient, event::Xclient{*std::move(attributes)});
}

std::optional<ServerEvent> ServerSession::on_xforward(std::string_view argument) {
    if (!rights_.xforward) return refuse(550, {5, 7, 0}, "Error: insufficient authorization");
    if (in_mail_) return refuse(503, {5, 5, 1}, "Error: MAIL transaction in progress");
    auto attributes = parse_client_attributes(ClientCommand::xforward, argument);
    if (!attributes) return refuse(attributes.error());
    count_junk();
    if (state_ == State::over) return {};
    return ask(Question::xforward, event::Xforward{*std::move(attributes)});
}

std::optional<ServerEvent> ServerSession::on_quit(std::string_view argument) {
    if (!argument.empty()) return refuse(501, {5, 5, 4}, "Syntax: QUIT");
    accept(221, {2, 0, 0}, "Bye");
    quit_ = true;
    end(event::Disconnect::Cause::quit);
    return {};
}

} // namespace smtp
