#include "libsmtp/session/server_session.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace smtp {

using Cause = event::Disconnect::Cause;

static constexpr std::string_view verb_names[] = {
    "EHLO", "HELO", "STARTTLS", "AUTH",    "MAIL",     "RCPT", "DATA",    "BDAT",    "RSET",          "NOOP",
    "VRFY", "ETRN", "HELP",     "XCLIENT", "XFORWARD", "QUIT", "UNKNOWN", "CONNECT", "END-OF-MESSAGE"};

std::string_view name_of(Verb verb) { return verb_names[static_cast<std::size_t>(verb)]; }

static bool is_noise(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

ServerSession::ServerSession(const ServerSettings& settings, Monotonic now)
    : settings_(&settings), now_(now), deadline_(now + settings.command_time), window_end_(deadline_) {}

void ServerSession::feed(std::string_view bytes, Monotonic now) {
    now_ = now;
    if (state_ == State::over) return;
    if (begin_ == input_.size()) {
        input_.assign(bytes);
    } else {
        input_.erase(0, begin_);
        input_.append(bytes);
    }
    begin_ = 0;
    if (!receiving()) return;
    deadline_ = now + settings_->data_time;
    if (state_ == State::content || state_ == State::skip_content) window_bytes_ += bytes.size();
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
           !refusal_ && !reset_) {
        if (shut_down_.code != 0 && state_ == State::command && !in_mail_) {
            shut_down_.append_to(output_);
            end(Cause::shut_down);
            break;
        }
        if (state_ == State::connect) return ask(Question::connect, event::Connect{});
        const auto before = std::pair(begin_, state_);
        auto event = state_ == State::command || state_ == State::skip_line  ? next_command()
                     : state_ == State::auth_line                            ? next_auth_line()
                     : state_ == State::chunk || state_ == State::skip_chunk ? next_chunk()
                                                                             : next_content();
        if (event) return event;
        if (before == std::pair(begin_, state_)) break; // needs more input
    }
    if (refusal_) return *std::exchange(refusal_, {});
    if (std::exchange(reset_, false)) return event::Reset{};
    if (state_ != State::over || ended_ || held_until_) return {};
    if (std::exchange(quit_, false)) return event::Quit{};
    ended_ = true;
    return event::Disconnect{cause_};
}

void ServerSession::trim() {
    input_.erase(0, std::exchange(begin_, 0));
    input_.shrink_to_fit();
    output_.shrink_to_fit();
}

// --- commands

std::optional<ServerEvent> ServerSession::next_command() {
    if (state_ == State::skip_line) {
        const auto lf = pending().find('\n');
        skipped_ += std::min(lf, pending().size());
        begin_ = lf == std::string_view::npos ? input_.size() : begin_ + lf + 1;
        if (skipped_ > settings_->skipped)
            end(Cause::not_smtp);
        else if (lf != std::string_view::npos)
            state_ = State::command;
        return {};
    }
    if (pending().empty()) return {};
    const char first = pending().front();
    if ((is_noise(first) && first != '\r' && first != '\n') || static_cast<signed char>(first) < 0)
        return not_smtp(pending());
    const Line line = cut_line(pending(), settings_->line);
    line_begin_ = begin_;
    begin_ += line.consumed;
    switch (line.kind) {
    case Line::Kind::none: return {};
    case Line::Kind::too_long:
        if (!line.ended) state_ = State::skip_line;
        skipped_ = 0;
        note_unknown();
        refuse(500, {5, 5, 2}, "Error: line too long");
        return {};
    case Line::Kind::bare_lf:
        if (rights_.bare_newlines) break;
        [[fallthrough]];
    case Line::Kind::bare_cr:
        if (std::ranges::any_of(line.text, [](char c) { return is_noise(c) && c != '\r'; }))
            return not_smtp(line.text);
        note_unknown();
        refuse(500, {5, 5, 2}, "Error: lines must end in CR LF; bare CR or LF is not allowed");
        if (++bare_lines_ >= settings_->bare_lines && state_ != State::over) {
            note_unexpected_input(line.text);
            end(Cause::not_smtp);
        }
        return {};
    case Line::Kind::complete: break;
    }
    if (std::ranges::any_of(line.text, is_noise)) return not_smtp(line.text);
    return run(line.text);
}

std::optional<ServerEvent> ServerSession::next_auth_line() {
    constexpr std::size_t longest = 12288; // RFC 4954, 4
    const Line line = cut_line(pending(), longest);
    if (line.kind == Line::Kind::none) return {};
    begin_ += line.consumed;
    state_ = line.kind == Line::Kind::too_long && !line.ended ? State::skip_line : State::command;
    skipped_ = 0;
    const bool lf = line.kind == Line::Kind::bare_lf && rights_.bare_newlines;
    if (line.kind != Line::Kind::complete && !lf)
        return refuse(500, {5, 5, 2}, "Error: invalid line in an authentication exchange");
    return ask(Question::auth, event::AuthLine{Secret(std::string(line.text))});
}

// --- answers

std::optional<ServerEvent> ServerSession::ask(Question question, ServerEvent event) {
    question_ = question;
    return event;
}

void ServerSession::answer(const Reply& reply, Monotonic now, AfterReply then) {
    assert(question_ != Question::nothing);
    now_ = now;
    const auto question = std::exchange(question_, Question::nothing);
    const bool yes = reply.positive();
    // What must come last in a group of commands was not: the client talks without listening.
    const bool last_in_group = question == Question::connect || question == Question::helo ||
                               (question == Question::data && verb_ == Verb::data) || question == Question::auth;
    const bool refuse_early = settings_->early_bytes == ServerSettings::EarlyBytes::refuse && last_in_group;
    // What came in plain text behind STARTTLS must never be taken for something said under TLS.
    if (yes && (refuse_early || question == Question::start_tls) && !pending().empty()) {
        note_unexpected_input(reply.code == 334 ? "" : pending()); // that may be a password
        refuse_permanently({554, {5, 5, 0}, "Error: SMTP protocol synchronization"});
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
        wait_for_command();
        return;
    case Question::helo: return greet(verb_ == Verb::ehlo ? Greeting::ehlo : Greeting::helo, reply.text);
    case Question::mail:
        in_mail_ = true;
        forwarded_ = chunking_ = false;
        recipients_ = 0;
        content_ = 0;
        break;
    case Question::rcpt: ++recipients_; break;
    case Question::data:
        if (verb_ == Verb::data) reply.append_to(output_);
        chunking_ = verb_ == Verb::bdat;
        decoder_.reset(chunking_               ? DataDecoder::Ending::length
                       : rights_.bare_newlines ? DataDecoder::Ending::dot_lf
                                               : DataDecoder::Ending::dot);
        begin_content(chunking_ ? State::chunk : State::content);
        return;
    case Question::auth:
        if (reply.code == 334) {
            reply.append_to(output_);
            state_ = State::auth_line;
            wait_for_command();
            return;
        }
        authenticated_ = true;
        break;
    case Question::start_tls:
        accept(reply.code, reply.status, reply.text);
        end_transaction();
        state_ = State::handshake;
        return;
    case Question::xclient: return restart();
    case Question::xforward: forwarded_ = true; break;
    case Question::end_of_data:
        in_mail_ = false; // the driver has it; no notice
        junk_ = overshoot_ = deferrals_ = 0;
        break;
    case Question::vrfy:
    case Question::etrn:
    case Question::unknown:
    case Question::nothing: break;
    }
    accept(reply.code, reply.status, reply.text);
}

void ServerSession::greet(Greeting greeting, std::string_view more) {
    greeting_ = greeting;
    helo_ = std::exchange(pending_helo_, {});
    auto text = settings_->hostname;
    const auto lines = offered().lines();
    if (greeting == Greeting::ehlo && !lines.empty()) text += '\n' + lines;
    if (greeting == Greeting::ehlo && !more.empty()) text += '\n' + std::string(more);
    if (greeting == Greeting::ehlo && rights_.xclient)
        text += fmt::format("\n{}", offer_of(ClientCommand::xclient));
    if (greeting == Greeting::ehlo && rights_.xforward)
        text += fmt::format("\n{}", offer_of(ClientCommand::xforward));
    accept(250, {}, text);
}

// As after connecting, but that the proxy may have greeted and authenticated on the client's behalf.
void ServerSession::restart() {
    ++count(verb_).accepted;
    greeting_ = described_greeting_;
    helo_ = std::exchange(pending_helo_, {});
    authenticated_ = described_login_;
    errors_ = bare_lines_ = junk_ = 0;
    proxied_ = true;
    state_ = State::connect;
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
    case Question::end_of_data: in_mail_ = false; break;
    default: break;
    }
    refuse_permanently(reply);
    const bool of_transaction = question == Question::mail || question == Question::rcpt || question == Question::data;
    if (of_transaction && !reply.permanent() && reply.code != 421) count_deferral();
}

void ServerSession::accept(int code, EnhancedStatus status, std::string_view text) {
    Reply{code, status, std::string(text)}.append_to(output_);
    ++count(verb_).accepted;
    wait_for_command();
}

std::nullopt_t ServerSession::refuse(int code, EnhancedStatus status, std::string_view text) {
    return refuse(Reply{code, status, std::string(text)});
}

std::nullopt_t ServerSession::refuse(const Reply& reply) {
    refusal_ = event::Refused{verb_, reply};
    refuse_permanently(reply);
    return std::nullopt;
}

void ServerSession::refuse_permanently(const Reply& reply) {
    reply.append_to(output_);
    wait_for_command();
    if (reply.permanent()) count_error();
}

void ServerSession::count_error() {
    ++errors_;
    if (errors_ >= settings_->hard_errors) {
        Reply{421, {4, 7, 0}, settings_->hostname + " Error: too many errors"}.append_to(output_);
        end(Cause::too_many_errors);
    } else if (errors_ >= settings_->soft_errors) {
        held_until_ = now_ + settings_->error_delay;
    }
}

// Lists meet greylisting, and long ones a table that is not there for the moment: ten of these are held to be an error,
// and only a client that has nobody to send to but those is sent away.
void ServerSession::count_deferral() {
    constexpr std::uint32_t of_an_error = 10;
    if (++deferrals_ % of_an_error == 0 && recipients_ == 0) count_error();
    if (state_ != State::over && deferrals_ >= of_an_error * settings_->soft_errors)
        held_until_ = now_ + settings_->error_delay;
}

void ServerSession::count_junk() {
    if (++junk_ > settings_->junk_commands) count_error();
}

void ServerSession::note_unknown() {
    verb_ = Verb::unknown;
    after_content_ = false;
    ++count(verb_).total;
}

// For the log: the first line of it.
void ServerSession::note_unexpected_input(std::string_view text) {
    unexpected_input_ = printable(text.substr(0, text.find_first_of("\r\n")), 100);
}

std::nullopt_t ServerSession::not_smtp(std::string_view text) {
    note_unknown();
    note_unexpected_input(text);
    begin_ = input_.size();
    refuse_permanently({500, {5, 5, 1}, "Error: this is an SMTP server"});
    held_until_.reset();
    if (state_ != State::over) end(Cause::not_smtp);
    return std::nullopt;
}

void ServerSession::tls_up(Monotonic now) {
    now_ = now;
    tls_ = true;
    authenticated_ = false;
    greeting_ = Greeting::none;
    helo_.clear();
    if (state_ != State::handshake) return;
    state_ = State::command;
    wait_for_command();
}

// --- endings

void ServerSession::end_transaction() {
    chunking_ = false;
    const bool described = std::exchange(forwarded_, false);
    if (!std::exchange(in_mail_, false) && !described) return;
    reset_ = true;
    recipients_ = 0;
}

void ServerSession::end(Cause cause) {
    end_transaction();
    state_ = State::over;
    cause_ = cause;
    input_ = {};
    begin_ = 0;
}

void ServerSession::shut_down(const Reply& reply, Monotonic now, When when) {
    now_ = now;
    shut_down_ = reply;
    if (when == When::after_transaction || state_ == State::over || question_ != Question::nothing) return;
    held_until_.reset();
    if (state_ != State::handshake) reply.append_to(output_); // there nobody could read it
    end(Cause::shut_down);
}

// --- time

void ServerSession::wait_for_command() {
    deadline_ = now_ + settings_->command_time;
    if (begin_ == input_.size() && input_.capacity() > 4096) {
        input_ = {}; // an idle session is small
        begin_ = 0;
    }
}

std::optional<Monotonic> ServerSession::next_deadline() const {
    if (held_until_) return held_until_;
    if (question_ != Question::nothing || state_ == State::over || state_ == State::connect ||
        state_ == State::handshake)
        return {};
    if (!measured() || settings_->min_data_rate == 0) return deadline_;
    return std::min(deadline_, window_end_);
}

void ServerSession::expired(Monotonic now) {
    now_ = now;
    if (held_until_) {
        if (now < *held_until_) return;
        held_until_.reset();
        wait_for_command();
        return;
    }
    const auto due = next_deadline();
    if (!due || now < *due) return;
    if (now < deadline_) { // only the window is over: was it enough?
        using Seconds = std::chrono::duration<double>;
        const auto asked =
            static_cast<double>(settings_->min_data_rate) * Seconds(settings_->rate_window).count();
        const bool enough = static_cast<double>(std::exchange(window_bytes_, 0)) >= asked;
        window_end_ = now + settings_->rate_window;
        if (enough) return;
    }
    Reply{421, {4, 4, 2}, settings_->hostname + " Error: timeout exceeded"}.append_to(output_);
    end(Cause::timed_out);
}

void ServerSession::reading_resumed(Monotonic now) {
    now_ = now;
    window_bytes_ = 0;
    window_end_ = now + settings_->rate_window;
    deadline_ = now + (receiving() ? settings_->data_time : settings_->command_time);
}

void ServerSession::apply_settings(const ServerSettings& settings, Monotonic now) {
    settings_ = &settings;
    deadline_ = std::min(deadline_, now + (receiving() ? settings.data_time : settings.command_time));
}

// --- facts for logs

std::string_view ServerSession::protocol() const {
    if (greeting_ != Greeting::ehlo) return "SMTP";
    if (authenticated_) return tls_ ? "ESMTPSA" : "ESMTPA";
    return tls_ ? "ESMTPS" : "ESMTP";
}

std::string_view ServerSession::transaction_protocol() const {
    if (!utf8_) return protocol();
    if (authenticated_) return tls_ ? "UTF8SMTPSA" : "UTF8SMTPA";
    return tls_ ? "UTF8SMTPS" : "UTF8SMTP";
}

std::string ServerSession::last_command() const {
    if (in_content_) return fmt::format("{} ({} bytes)", verb_ == Verb::bdat ? "BDAT" : "DATA", content_);
    return std::string(name_of(after_content_ ? Verb::end_of_message : verb_));
}

std::string ServerSession::statistics() const {
    std::string out;
    const auto add = [&out](std::string_view name, Count count) {
        if (count.total == 0) return;
        if (!out.empty()) out += ' ';
        if (count.accepted == count.total)
            out += fmt::format("{}={}", name, count.total);
        else
            out += fmt::format("{}={}/{}", name, count.accepted, count.total);
    };
    Count all;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        add(lowered(verb_names[i]), counts_[i]);
        all.accepted += counts_[i].accepted;
        all.total += counts_[i].total;
    }
    if (all.total == 0) return "commands=0/0";
    add("commands", all);
    return out;
}

} // namespace smtp
