#include "daemons/fleet/store_connection.h"
#include "daemons/common/runtime/destroy_later.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace fleet {

StoreConnection::StoreConnection(common::Loop& loop, const common::StoreAddress& address,
                                 std::shared_ptr<const tls::Context> tls, std::size_t turn, Callbacks callbacks)
    : loop_(loop), address_(address), context_(std::move(tls)), callbacks_(std::move(callbacks)),
      connected_hook_(loop, [this] { handshake(); }), closed_hook_(loop, [this] { callbacks_.closed(problem_); }) {
    if (const auto literal = common::IpAddress::parse(address_.host)) {
        addresses_.push_back({*literal, address_.port});
        try_next();
        return;
    }
    lookup_ =
        std::make_unique<HostLookup>(loop, address_.host, address_.port, [this, turn](const HostLookup::Found& found) {
            if (!found) return fail(found.error());
            addresses_.assign(found->begin(), found->end());
            std::ranges::rotate(addresses_, addresses_.begin() + static_cast<std::ptrdiff_t>(turn % addresses_.size()));
            try_next();
        });
}

// The handshake begins before the connection stands: what it sends waits for that.
void StoreConnection::try_next() {
    common::ServiceAddress next;
    next.endpoint = addresses_.front();
    addresses_.pop_front();
    if (stream_) common::destroy_later(loop_, std::move(stream_));
    stream_ = std::make_unique<common::ClientStream>(
        loop_, next,
        common::ClientStream::Callbacks{[this](std::string_view bytes) { received(bytes); },
                                        [this](const std::string& why) { stream_closed(why); }});
    if (!context_) {
        ready_ = true; // what is sent waits, too
        connected_hook_.schedule();
        return;
    }
    tls_ = tls::Session::connect(context_, {.host = address_.host}, nullptr);
    if (!tls_) return fail("no memory for TLS");
    connected_hook_.schedule();
}

void StoreConnection::stream_closed(const std::string& why) {
    if (failed_) return;
    if (!stream_->connected() && !addresses_.empty()) return try_next();
    fail(why);
}

void StoreConnection::handshake() {
    if (failed_) return;
    if (!tls_) return callbacks_.ready();
    const auto progress = tls_->handshake();
    if (tls_->has_output()) stream_->send(tls_->output());
    if (progress == tls::Session::Progress::wants_more) return;
    if (progress != tls::Session::Progress::done) return fail("TLS: " + tls_->error());
    if (const auto verdict = tls_->verdict(); verdict.proof != tls::CertificateVerdict::Proof::authority)
        return fail(fmt::format("TLS: the certificate is not valid for {}: {}", address_.host,
                                verdict.problem.empty() ? "there is none" : verdict.problem));
    ready_ = true;
    callbacks_.ready();
    if (!failed_) read();
}

void StoreConnection::received(std::string_view bytes) {
    if (failed_) return;
    if (!tls_) return callbacks_.data(bytes);
    tls_->feed(bytes);
    ready_ ? read() : handshake();
}

void StoreConnection::read() {
    char space[16 * 1024];
    while (!failed_) {
        std::size_t taken = 0;
        const auto progress = tls_->read(space, taken);
        if (tls_->has_output()) stream_->send(tls_->output());
        switch (progress) {
        case tls::Session::Progress::done: callbacks_.data({space, taken}); continue;
        case tls::Session::Progress::wants_more: return;
        case tls::Session::Progress::closed: return fail("closed the connection");
        case tls::Session::Progress::failed: return fail("TLS: " + tls_->error());
        }
    }
}

void StoreConnection::send(std::string bytes) {
    if (failed_ || bytes.empty()) return;
    if (!tls_) return stream_->send(std::move(bytes));
    if (!tls_->write(bytes)) return fail("TLS: " + tls_->error());
    stream_->send(tls_->output());
}

void StoreConnection::fail(std::string why) {
    if (std::exchange(failed_, true)) return;
    problem_ = std::move(why);
    closed_hook_.schedule();
}

} // namespace fleet
