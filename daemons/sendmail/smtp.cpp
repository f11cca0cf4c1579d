#include "daemons/sendmail/smtp.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/sendmail/submit.h"
#include "libsmtp/session/server_session.h"
#include <algorithm>
#include <array>
#include <ctime>
#include <poll.h>
#include <sysexits.h>
#include <unistd.h>

namespace sendmail {

using proto::submit::Begin;
using smtp::Reply;

namespace {

// CRLF where programs write LF: the session takes nothing else for a line's end.
class LineEndConverter {
public:
    std::string convert(std::string_view bytes) {
        std::string out;
        out.reserve(bytes.size() + bytes.size() / 16);
        for (const char c : bytes) {
            if (c == '\n' && last_ != '\r') out += '\r';
            out += last_ = c;
        }
        return out;
    }

private:
    char last_ = '\0';
};

class StdioSession {
public:
    StdioSession(const common::EffectiveConfig& config, const smtp::ServerSettings& settings)
        : config_(config), session_(settings, now()) {}

    int run() {
        LineEndConverter ends;
        std::array<char, 65536> buffer;
        for (;;) {
            while (auto event = session_.next()) {
                std::visit([this](const auto& e) { on(e); }, *event);
                if (!send()) return EX_IOERR;
            }
            if (!send()) return EX_IOERR;
            if (session_.closed()) return EX_OK;
            const auto deadline = session_.next_deadline();
            const auto wait_ms =
                deadline ? std::clamp<std::int64_t>((*deadline - now()).count() / 1000 + 1, 0, 3'600'000) : -1;
            pollfd wait{0, POLLIN, 0};
            const bool wants = session_.wants_input();
            if (::poll(&wait, wants ? 1 : 0, static_cast<int>(wait_ms)) == 0) {
                session_.expired(now());
                continue;
            }
            const auto n = ::read(0, buffer.data(), buffer.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0)
                session_.disconnected();
            else
                session_.feed(ends.convert({buffer.data(), static_cast<std::size_t>(n)}), now());
        }
    }

private:
    static smtp::Monotonic now() { return common::Loop::now().monotonic; }
    bool send() {
        const auto out = session_.output();
        for (std::string_view rest = out; !rest.empty();) {
            const auto n = ::write(1, rest.data(), rest.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return false;
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    void ok(int code = 250, smtp::EnhancedStatus status = {2, 0, 0}, std::string text = "Ok") {
        session_.answer(Reply{code, status, std::move(text)}, now());
    }

    void on(const smtp::event::Connect&) { session_.answer(Reply{220, {}, {}}, now()); }
    void on(const smtp::event::Helo&) { session_.answer(Reply{250, {}, {}}, now()); }
    void on(const smtp::event::Mail& mail) {
        begin_ = {};
        content_.clear();
        begin_.sender = mail.path.text();
        begin_.envid = mail.parameters.envid;
        begin_.smtputf8 = mail.parameters.smtputf8;
        begin_.ret = mail.parameters.ret;
        if (mail.parameters.body == smtp::Body::eight_bit_mime) begin_.body = proto::submit::Body::eight_bit;
        const auto clock = std::time(nullptr);
        std::tm local{};
        ::localtime_r(&clock, &local);
        begin_.zone = static_cast<std::int32_t>(local.tm_gmtoff / 60);
        ok(250, {2, 1, 0});
    }
    void on(const smtp::event::Rcpt& rcpt) {
        begin_.recipients.push_back({rcpt.path.text(), rcpt.parameters.orcpt, rcpt.parameters.notify.bits()});
        ok(250, {2, 1, 5});
    }
    void on(const smtp::event::Data&) { session_.answer(Reply{354, {}, "End data with <CR><LF>.<CR><LF>"}, now()); }
    void on(const smtp::event::Chunk& chunk) { content_ += chunk.bytes; }
    void on(const smtp::event::EndOfData&) {
        const auto answer = submit(config_, begin_, content_);
        content_.clear();
        if (answer.status == EX_OK)
            return ok(250, {2, 0, 0}, answer.queue_id.empty() ? "Ok: queued" : "Ok: queued as " + answer.queue_id);
        if (answer.status == EX_TEMPFAIL) return session_.answer(Reply{451, {4, 3, 0}, answer.text}, now());
        session_.answer(Reply{554, {5, 6, 0}, answer.text}, now());
    }
    void on(const smtp::event::Vrfy&) { ok(252, {2, 0, 0}, "Send some mail, I'll try my best"); }
    // Not offered, so never asked for.
    void on(const smtp::event::Auth&) { ok(502, {5, 5, 1}, "Error: command is not offered here"); }
    void on(const smtp::event::AuthLine&) { ok(502, {5, 5, 1}, "Error: command is not offered here"); }
    void on(const smtp::event::Etrn&) { ok(502, {5, 5, 1}, "Error: command is not offered here"); }
    void on(const smtp::event::StartTls&) { ok(502, {5, 5, 1}, "Error: command is not offered here"); }
    void on(const smtp::event::Xclient&) { ok(502, {5, 5, 1}, "Error: command is not offered here"); }
    void on(const smtp::event::Xforward&) { ok(502, {5, 5, 1}, "Error: command is not offered here"); }
    void on(const smtp::event::Unknown&) {
        session_.answer(Reply{502, {5, 5, 2}, "Error: command not recognized"}, now());
    }
    void on(const smtp::event::Refused&) {}
    void on(const smtp::event::Violation&) {}
    void on(const smtp::event::Reset&) { content_.clear(); }
    void on(const smtp::event::Quit&) {}
    void on(const smtp::event::Disconnect&) {}

    const common::EffectiveConfig& config_;
    smtp::ServerSession session_;
    Begin begin_;
    std::string content_;
};

} // namespace

int serve_smtp(const common::EffectiveConfig& config) {
    smtp::ServerSettings settings;
    settings.hostname = config.mta.hostname;
    settings.capabilities.size = config.submit.message_size;
    settings.capabilities.smtputf8 = true;
    settings.message_size = config.submit.message_size;
    settings.recipients = config.submit.recipients;
    settings.early_bytes = smtp::ServerSettings::EarlyBytes::tolerate; // a program may write all it has at once
    settings.junk_commands = 1'000'000;
    settings.min_data_rate = 0;
    settings.command_time = settings.data_time = std::chrono::hours(1);
    return StdioSession(config, settings).run();
}

} // namespace sendmail
