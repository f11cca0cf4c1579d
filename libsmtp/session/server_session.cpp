#include "libsmtp/session/server_session.h"
#include "libsmtp/protocol/framing.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace smtp {

ServerSession::ServerSession(const ServerSettings& settings, Monotonic now)
    : settings_(&settings), now_(now), deadline_(settings, now) {}

void ServerSession::feed(std::string_view bytes, Monotonic now) {
    now_ = now;
    if (state_ == State::over) return;
    input_.append(bytes);
    if (!receiving()) return;
    deadline_.await_content(*settings_, now_);
    if (verb_ == Verb::data) deadline_.received(bytes.size());
}

void ServerSession::disconnected() {
    held_until_.reset();
    if (state_ == State::over) return;
    if (question_ == Question::nothing)
        end(Cause::lost);
    else
        client_gone_ = true; // the answer is still to come
}

std::optional<ServerEvent> ServerSession::next() {
    while (state_ != State::over && state_ != State::handshake && question_ == Question::nothing && !held_until_ &&
           !violation_ && !refusal_ && !reset_) {
        if (shut_down_.code != 0 && state_ == State::command && !transaction_.open) {
            shut_down_.append_to(output_);
            end(Cause::shut_down);
            break;
        }
        const auto before = std::pair(input_.position(), state_);
        std::optional<ServerEvent> event;
        switch (state_) {
        case State::connect: return ask(Question::connect, event::Connect{});
        case State::command: event = next_command(); break;
        case State::auth_line: event = next_auth_line(); break;
        case State::skip_line: skip_line(); break;
        case State::content: event = next_content(); break;
        case State::handshake:
        case State::over: break;
        }
        if (event) return event;
        if (before == std::pair(input_.position(), state_)) break; // needs more input
    }
    if (violation_) return *std::exchange(violation_, {});
    if (refusal_) return *std::exchange(refusal_, {});
    if (std::exchange(reset_, false)) return event::Reset{};
    if (state_ != State::over || ended_ || held_until_) return {};
    if (std::exchange(quit_, false)) return event::Quit{};
    ended_ = true;
    return event::Disconnect{cause_};
}

// --- commands

// For the log: the first line of it.
static std::string first_line(std::string_view text) {
    return printable(text.substr(0, text.find_first_of("\r\n")), 100);
}

// Of a client that is watched: each kind is reported once, and before the command has an effect, because the driver may
// end the session. `watched`: of that kind; `after`: the last command.
static bool violates(bool& watched, std::optional<event::Violation>& notice, event::Violation::Kind kind,
                     std::string after, std::string_view text) {
    if (!std::exchange(watched, false)) return false;
    notice = event::Violation{kind, std::move(after), std::string(text.substr(0, 100))};
    return true;
}

// Its content follows without a reply in between (RFC 3030).
static bool is_bdat(std::string_view line) { return same_ignoring_case(split_command(line).first, "BDAT"); }

std::optional<ServerEvent> ServerSession::next_command() {
    using Kind = ServerInput::CommandLine::Kind;
    const auto line = input_.next_command(settings_->line, rights_.bare_newlines);
    switch (line.kind) {
    case Kind::none: return {};
    case Kind::complete:
        if (watch_.pipelining && input_.size() != 0 && !(transaction_.recipients != 0 && is_bdat(line.text)) &&
            violates(watch_.pipelining, violation_, event::Violation::Kind::pipelining, last_command(), unparsed())) {
            input_.put_back();
            return {};
        }
        return run(line.text);
    case Kind::not_smtp: return not_smtp(line.text);
    case Kind::too_long:
        if (!line.ended) state_ = State::skip_line;
        skipped_ = 0;
        note_unknown();
        return refuse({500, {5, 5, 2}, "Error: line too long"});
    case Kind::bare: break;
    }
    if (violates(watch_.bare_newlines, violation_, event::Violation::Kind::bare_newline, last_command(), line.text)) {
        input_.put_back();
        return {};
    }
    const bool enough = errors_.bare_line(*settings_);
    if (enough) unexpected_input_ = first_line(line.text); // the reply may give back its memory
    note_unknown();
    refuse({500, {5, 5, 2}, "Error: lines must end in CR LF; bare CR or LF is not allowed"});
    if (enough && state_ != State::over) end(Cause::not_smtp);
    return {};
}

void ServerSession::skip_line() {
    const auto skipped = input_.skip_line();
    skipped_ += skipped.bytes;
    if (skipped_ > settings_->skipped)
        end(Cause::not_smtp);
    else if (skipped.ended)
        state_ = State::command;
}

std::optional<ServerEvent> ServerSession::next_auth_line() {
    constexpr std::size_t longest = 12288; // RFC 4954, 4
    const Line line = cut_line(input_.pending(), longest);
    if (line.kind == Line::Kind::none) return {};
    input_.consume(line.consumed);
    state_ = line.kind == Line::Kind::too_long && !line.ended ? State::skip_line : State::command;
    skipped_ = 0;
    const bool lf = line.kind == Line::Kind::bare_lf && rights_.bare_newlines;
    if (line.kind != Line::Kind::complete && !lf)
        return refuse({500, {5, 5, 2}, "Error: invalid line in an authentication exchange"});
    return ask(Question::auth, event::AuthLine{Secret(std::string(line.text))});
}

// "Subject: …" as a command.
static bool is_header_field(std::string_view line) {
    const auto colon = line.find(':');
    return colon != line.npos && colon > 0 && line.find_first_of(" \t<@") > colon;
}

std::optional<ServerEvent> ServerSession::run(std::string_view line) {
    const auto [name, argument] = split_command(line);
    const auto* command = find_command(name);
    if (!command) {
        if (is_http_method(name)) return not_smtp(line);
        if (is_header_field(line) &&
            violates(watch_.non_smtp, violation_, event::Violation::Kind::non_smtp, last_command(), line)) {
            input_.put_back();
            return {};
        }
        note_unknown();
        return ask(Question::unknown, event::Unknown{printable(name, 64), std::string(argument)});
    }
    // A new greeting ends the transaction; its notice comes first, and the line is read again after it.
    const bool greets = command->verb == Verb::ehlo || command->verb == Verb::helo;
    if (greets && transaction_.open && !argument.empty()) {
        input_.put_back();
        end_transaction();
        return {};
    }
    verb_ = command->verb;
    after_content_ = false;
    counts_.received(verb_);
    if (verb_ == Verb::bdat) return begin_chunk(argument);
    auto result = check_command(*command, context(), argument);
    if (const auto* refused = std::get_if<Refuse>(&result)) return refuse(refused->reply);
    if (auto* question = std::get_if<Ask>(&result)) return ask_about(*command, std::move(*question));
    obey(*command, std::get<Accept>(result).reply);
    return {};
}

void ServerSession::obey(const Command& command, const Reply& reply) {
    if (command.verb == Verb::rset) end_transaction();
    accept(reply);
    if (command.verb == Verb::quit) {
        quit_ = true;
        end(Cause::quit);
    }
    if (command.junk == Command::Junk::yes) penalise(errors_.junk(*settings_));
}

std::optional<ServerEvent> ServerSession::ask_about(const Command& command, Ask question) {
    if (command.junk == Command::Junk::yes) penalise(errors_.junk(*settings_));
    if (state_ == State::over) return {};
    if (const auto* helo = std::get_if<event::Helo>(&question.event)) {
        pending_client_ = client_;
        pending_client_.greeting = helo->extended ? Greeting::ehlo : Greeting::helo;
        pending_client_.helo = helo->name;
    }
    if (const auto* xclient = std::get_if<event::Xclient>(&question.event))
        pending_client_ = described_client(xclient->attributes, client_.tls);
    if (const auto* mail = std::get_if<event::Mail>(&question.event)) transaction_.utf8 = mail->parameters.smtputf8;
    if (question.question == Question::rcpt && transaction_.recipients >= settings_->recipients) {
        refuse({452, {4, 5, 3}, "Error: too many recipients"});
        penalise(errors_.excess_recipient(*settings_));
        return {};
    }
    return ask(question.question, std::move(question.event));
}

// --- content

void ServerSession::begin_content() {
    state_ = State::content;
    deadline_.await_content(*settings_, now_);
    deadline_.begin_window(*settings_, now_);
}

std::optional<ServerEvent> ServerSession::begin_chunk(std::string_view argument) {
    if (!offered().chunking) return refuse({502, {5, 5, 1}, "Error: command is not offered here"});
    const auto chunk = parse_chunk(argument);
    if (!chunk) { // the end of the chunk is unknown
        refuse({501, {5, 5, 4}, "Syntax: BDAT count [LAST]"});
        if (state_ != State::over) end(Cause::turned_away);
        return {};
    }
    content_.announce_chunk(chunk->size, chunk->last);
    if (auto refusal = refusal_of_chunk(context(), *chunk, content_.size())) return skip_chunk(*std::move(refusal));
    if (!transaction_.chunking) return ask(Question::data, event::Data{});
    content_.begin_next_chunk(); // the message is measured as a whole
    state_ = State::content;
    deadline_.await_content(*settings_, now_);
    return {};
}

// The client gets the reply at the end of the chunk; the transaction is over now.
std::optional<ServerEvent> ServerSession::skip_chunk(Reply refusal) {
    refusal_ = event::Refused{Verb::bdat, refusal};
    end_transaction();
    if (content_.chunk_left() > settings_->skipped) { // not worth reading
        refuse_without_notice(refusal);
        if (state_ != State::over) end(Cause::turned_away);
        return {};
    }
    content_.skip_chunk(std::move(refusal));
    begin_content();
    return {};
}

std::optional<ServerEvent> ServerSession::next_content() {
    using Kind = ContentReceiver::Step::Kind;
    const bool chunks = verb_ == Verb::bdat;
    const auto step = content_.next(input_.pending(), *settings_);
    input_.consume(step.consumed);
    if (chunks) deadline_.received(step.consumed);
    switch (step.kind) {
    case Kind::needs_input: break;
    case Kind::piece: return event::Chunk{step.piece};
    case Kind::refused:
        if (chunks) return skip_chunk(content_.take_refusal());
        refusal_ = event::Refused{Verb::end_of_message, content_.refusal()};
        end_transaction();
        break;
    case Kind::chunk_end:
        state_ = State::command;
        accept({250, {2, 0, 0}, fmt::format("Ok: {} bytes", content_.chunk_size())});
        if (content_.chunk_size() == 0) penalise(errors_.junk(*settings_));
        break;
    case Kind::message_end:
        state_ = State::command;
        after_content_ = true;
        return ask(Question::end_of_data, event::EndOfData{});
    case Kind::skipped:
        state_ = State::command;
        after_content_ = !chunks;
        refuse_without_notice(content_.take_refusal());
        break;
    case Kind::too_much:
        refuse_without_notice(content_.take_refusal());
        if (state_ != State::over) end(Cause::turned_away);
        break;
    }
    return {};
}

// --- answers

std::optional<ServerEvent> ServerSession::ask(Question question, ServerEvent event) {
    question_ = question;
    return event;
}

void ServerSession::answer(const Reply& reply, Monotonic now, AfterReply then) {
    assert(question_ != Question::nothing);
    now_ = now;
    if (then == AfterReply::announce) {
        output_ += "220-" + settings_->hostname + ' ' + settings_->banner + "\r\n";
        return;
    }
    const auto question = std::exchange(question_, Question::nothing);
    const bool yes = reply.positive();
    // These must be the last of a group of commands: otherwise the client did not wait for the reply.
    const bool last_in_group = question == Question::connect || question == Question::helo ||
                               (question == Question::data && verb_ == Verb::data) || question == Question::auth;
    const bool refuse_early =
        settings_->early_bytes == ServerSettings::EarlyBytes::refuse && last_in_group && then != AfterReply::read_on;
    // Plain text after STARTTLS must never be taken for a command under TLS.
    if (yes && (refuse_early || question == Question::start_tls) && input_.size() != 0) {
        unexpected_input_ = reply.code == 334 ? "" : first_line(input_.pending()); // that may be a password
        refuse_without_notice({554, {5, 5, 0}, "Error: SMTP protocol synchronization"});
        if (state_ != State::over) end(Cause::too_early);
        return;
    }
    if (yes)
        answer_yes(question, reply);
    else
        answer_no(question, reply);
    if (then == AfterReply::hold && state_ != State::over) held_until_ = now_ + settings_->error_delay;
    if (state_ == State::over) return;
    if (client_gone_)
        end(Cause::lost);
    else if (then == AfterReply::close || reply.code == 421)
        end(Cause::turned_away);
}

void ServerSession::answer_yes(Question question, const Reply& reply) {
    switch (question) {
    case Question::connect:
        state_ = State::command;
        if (reply.text.empty())
            Reply{220, {}, settings_->hostname + " " + settings_->banner}.append_to(output_);
        else
            reply.append_to(output_);
        return await_command();
    case Question::helo: return greet(reply.text);
    case Question::mail:
        transaction_ = {.open = true, .utf8 = transaction_.utf8};
        forwarded_ = false;
        content_.begin_message();
        break;
    case Question::rcpt: ++transaction_.recipients; break;
    case Question::data:
        transaction_.chunking = verb_ == Verb::bdat;
        if (transaction_.chunking) {
            content_.begin_first_chunk(rights_.bare_newlines);
        } else {
            reply.append_to(output_);
            content_.begin_data(rights_.bare_newlines);
        }
        return begin_content();
    case Question::auth:
        if (reply.code == 334) {
            reply.append_to(output_);
            state_ = State::auth_line;
            return await_command();
        }
        client_.authenticated = true;
        break;
    case Question::start_tls:
        accept(reply);
        end_transaction();
        state_ = State::handshake;
        return;
    case Question::xclient: // as after connecting
        counts_.accepted(verb_);
        client_ = std::exchange(pending_client_, {});
        errors_.client_changed();
        state_ = State::connect;
        return;
    case Question::xforward: forwarded_ = true; break;
    case Question::end_of_data:
        transaction_.open = false; // the driver has it; no notice
        errors_.message_answered();
        break;
    case Question::vrfy:
    case Question::etrn:
    case Question::unknown:
    case Question::nothing: break;
    }
    accept(reply);
}

void ServerSession::greet(std::string_view more) {
    client_ = std::exchange(pending_client_, {});
    auto text = settings_->hostname;
    if (client_.greeting == Greeting::ehlo) {
        auto capabilities = offered();
        if (watch_.pipelining) capabilities.pipelining = false;
        if (const auto lines = capabilities.lines(); !lines.empty()) text += '\n' + lines;
        if (!more.empty()) text += '\n' + std::string(more);
        if (rights_.xclient) text += fmt::format("\n{}", offer_of(ClientCommand::xclient));
        if (rights_.xforward) text += fmt::format("\n{}", offer_of(ClientCommand::xforward));
    }
    accept({250, {}, std::move(text)});
}

void ServerSession::answer_no(Question question, const Reply& reply) {
    switch (question) {
    case Question::connect: reply.append_to(output_); return end(Cause::turned_away);
    case Question::data:
        end_transaction();
        if (verb_ == Verb::bdat && reply.code != 421) {
            skip_chunk(reply);
            refusal_.reset(); // the driver knows
            return;
        }
        break; // refused here, the client would have to RSET: do it for it
    case Question::end_of_data: transaction_.open = false; break;
    default: break;
    }
    refuse_without_notice(reply);
    const bool of_transaction = question == Question::mail || question == Question::rcpt || question == Question::data;
    if (of_transaction && !reply.permanent() && reply.code != 421)
        penalise(errors_.deferral(*settings_, transaction_.recipients != 0));
}

void ServerSession::accept(const Reply& reply) {
    reply.append_to(output_);
    counts_.accepted(verb_);
    await_command();
}

std::nullopt_t ServerSession::refuse(const Reply& reply) {
    refusal_ = event::Refused{verb_, reply};
    refuse_without_notice(reply);
    return std::nullopt;
}

void ServerSession::refuse_without_notice(const Reply& reply) {
    reply.append_to(output_);
    await_command();
    if (reply.permanent()) penalise(errors_.error(*settings_));
}

void ServerSession::penalise(Penalty penalty) {
    switch (penalty) {
    case Penalty::none: return;
    case Penalty::delay: held_until_ = now_ + settings_->error_delay; return;
    case Penalty::close:
        Reply{421, {4, 7, 0}, settings_->hostname + " Error: too many errors"}.append_to(output_);
        return end(Cause::too_many_errors);
    }
}

void ServerSession::note_unknown() {
    verb_ = Verb::unknown;
    after_content_ = false;
    counts_.received(verb_);
}

std::nullopt_t ServerSession::not_smtp(std::string_view text) {
    violates(watch_.non_smtp, violation_, event::Violation::Kind::non_smtp, last_command(), text);
    note_unknown();
    unexpected_input_ = first_line(text);
    input_.consume_all();
    refuse_without_notice({500, {5, 5, 1}, "Error: this is an SMTP server"});
    held_until_.reset();
    if (state_ != State::over) end(Cause::not_smtp);
    return std::nullopt;
}

void ServerSession::tls_up(Monotonic now) {
    now_ = now;
    client_ = {.tls = true, .proxied = client_.proxied};
    if (state_ != State::handshake) return;
    state_ = State::command;
    await_command();
}

// --- endings

void ServerSession::end_transaction() {
    transaction_.chunking = false;
    const bool described = std::exchange(forwarded_, false);
    if (!std::exchange(transaction_.open, false) && !described) return;
    reset_ = true;
    transaction_.recipients = 0;
}

void ServerSession::end(Cause cause) {
    end_transaction();
    state_ = State::over;
    cause_ = cause;
    input_.clear();
}

void ServerSession::shut_down(const Reply& reply, Monotonic now, When when) {
    now_ = now;
    shut_down_ = reply;
    if (when == When::after_transaction || state_ == State::over || question_ != Question::nothing) return;
    held_until_.reset();
    if (state_ != State::handshake) reply.append_to(output_); // during a handshake it could not be read
    end(Cause::shut_down);
}

// --- time

void ServerSession::await_command() {
    deadline_.await_command(*settings_, now_);
    input_.release_if_used_up();
}

std::optional<Monotonic> ServerSession::next_deadline() const {
    if (held_until_) return held_until_;
    if (question_ != Question::nothing || state_ == State::over || state_ == State::connect ||
        state_ == State::handshake)
        return {};
    return deadline_.due(*settings_, measured());
}

void ServerSession::expired(Monotonic now) {
    now_ = now;
    if (held_until_) {
        if (now < *held_until_) return;
        held_until_.reset();
        return await_command();
    }
    const auto due = next_deadline();
    if (!due || now < *due || !deadline_.late(*settings_, now)) return;
    Reply{421, {4, 4, 2}, settings_->hostname + " Error: timeout exceeded"}.append_to(output_);
    end(Cause::timed_out);
}

void ServerSession::reading_resumed(Monotonic now) {
    now_ = now;
    deadline_.begin_window(*settings_, now);
    if (receiving())
        deadline_.await_content(*settings_, now);
    else
        deadline_.await_command(*settings_, now);
}

void ServerSession::apply_settings(const ServerSettings& settings, Monotonic now) {
    settings_ = &settings;
    deadline_.shorten(now + (receiving() ? settings.data_time : settings.command_time));
}

std::string ServerSession::last_command() const {
    if (content_.active()) return fmt::format("{} ({} bytes)", name_of(verb_), content_.size());
    return std::string(name_of(after_content_ ? Verb::end_of_message : verb_));
}

} // namespace smtp
