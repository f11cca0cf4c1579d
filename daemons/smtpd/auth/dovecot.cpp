#include "daemons/smtpd/auth/dovecot.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace smtpd {

using namespace std::chrono_literals;
using StepKind = AuthStep::Kind;

static constexpr std::size_t max_input = 65536;
static constexpr auto patience = 30s; // Dovecot itself delays refusals

static bool is_base64(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return smtp::is_letter(c) || smtp::is_digit(c) || c == '+' || c == '/' || c == '='; });
}

DovecotAuthentication::DovecotAuthentication(common::Loop& loop, const std::string& socket, AuthChannel channel,
                                             AuthConcurrency concurrency)
    : channel_(std::move(channel)), concurrency_(std::move(concurrency)),
      timeout_(loop, [this] { finish({StepKind::unavailable, "the auth service does not answer", {}}); }),
      stream_(loop, common::ServiceAddress{socket, {}},
              {[this](std::string_view bytes) { on_data(bytes); },
               [this](const std::string& why) { finish({StepKind::unavailable, "auth service: " + why, {}}); }}) {}

void DovecotAuthentication::start(const std::string& mechanism, const smtp::Secret* initial, Done done) {
    if (initial && !is_base64(initial->reveal())) return done({StepKind::malformed, "that is not base64", {}});
    mechanism_ = mechanism;
    has_initial_ = initial != nullptr;
    if (initial) initial_ = initial->copy();
    send_when_admitted(
        [this] {
            stream_.send(fmt::format("VERSION\t1\t2\nCPID\t{}\n", getpid()));
            started_ = true;
            if (server_ready_) begin();
        },
        std::move(done));
}

// When it is our turn.
void DovecotAuthentication::send_when_admitted(std::function<void()> question, Done done) {
    done_ = std::move(done);
    const auto go = [this, question = std::move(question)] {
        timeout_.start(patience);
        question();
    };
    if (!concurrency_.limiter->acquire(concurrency_.limits, ticket_, go))
        finish({StepKind::unavailable, "too many requests to the auth service are pending", {}});
}

// Once Dovecot has introduced itself.
void DovecotAuthentication::begin() {
    request_sent_ = true;
    auto request = fmt::format("AUTH\t1\t{}\tservice=smtp\tnologin\trip={}", mechanism_, channel_.client);
    if (channel_.secured) request += "\tsecured";
    if (has_initial_) request.append("\tresp=").append(initial_.reveal()); // the last of all
    initial_.wipe();
    stream_.send(request + "\n");
}

void DovecotAuthentication::respond(const smtp::Secret& response, Done done) {
    if (finished_) return done({StepKind::unavailable, "the auth service closed the connection", {}});
    if (!is_base64(response.reveal())) return done({StepKind::malformed, "that is not base64", {}});
    send_when_admitted([this, text = fmt::format("CONT\t1\t{}\n", response.reveal())] { stream_.send(text); },
                       std::move(done));
}

void DovecotAuthentication::on_data(std::string_view bytes) {
    input_ += bytes;
    if (input_.size() > max_input) return finish({StepKind::unavailable, "the auth service sent too much data", {}});
    while (!finished_) {
        const auto end = input_.find('\n');
        if (end == input_.npos) return;
        const auto text = input_.substr(0, end);
        input_.erase(0, end + 1);
        line(text);
    }
}

// What the first field with that beginning holds after it.
static std::optional<std::string_view> find_field(std::string_view line, std::string_view key) {
    while (!line.empty()) {
        const auto end = std::min(line.find('\t'), line.size());
        const auto field = line.substr(0, end);
        if (field.starts_with(key)) return field.substr(key.size());
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return std::nullopt;
}

static std::string_view field_of(std::string_view line, std::string_view key) {
    return find_field(line, key).value_or("");
}

void DovecotAuthentication::line(std::string_view line) {
    const auto is = [&](std::string_view word) { return line == word || line.starts_with(std::string(word) + "\t"); };
    if (is("VERSION") && !line.starts_with("VERSION\t1\t"))
        return finish({StepKind::unavailable, "the auth service uses another protocol version", {}});
    if (is("DONE") && !server_ready_) {
        server_ready_ = true;
        if (started_) begin();
        return;
    }
    if (!request_sent_ || !done_) return;
    const auto body = line.substr(std::min(line.find('\t', line.find('\t') + 1), line.size() - 1) + 1);
    if (line.starts_with("CONT\t1")) {
        timeout_.stop();
        concurrency_.limiter->release(ticket_);
        if (const auto done = std::exchange(done_, {}))
            done({StepKind::challenge, std::string(is_base64(body) ? body : ""), {}});
    } else if (line.starts_with("OK\t1")) {
        const auto user = field_of(line, "user=");
        if (user.empty()) return finish({StepKind::unavailable, "the auth service returned no user", {}});
        finish({StepKind::success, {}, std::string(user)});
    } else if (line.starts_with("FAIL\t1")) {
        // A flag of its own before Dovecot 2.3, a code since.
        const bool later = find_field(line, "temp") == "" || field_of(line, "code=") == "temp_fail";
        const auto why = field_of(line, "reason=");
        finish({later ? StepKind::unavailable : StepKind::failure,
                why.empty() ? "authentication failure" : std::string(why), std::string(field_of(line, "user="))});
    }
}

void DovecotAuthentication::finish(AuthStep step) {
    finished_ = true;
    timeout_.stop();
    concurrency_.limiter->release(ticket_);
    if (const auto done = std::exchange(done_, {})) done(std::move(step));
}

} // namespace smtpd
