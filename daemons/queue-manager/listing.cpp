#include "daemons/queue-manager/listing.h"
#include "libspool/message_reader.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace queue_manager {

using decide::queue::MessageInfo;
using decide::queue::Waiting;

proto::showq::Entry entry_of(const MessageInfo& info, const spool::MessageState& state) {
    proto::showq::Entry entry;
    const bool fresh = std::ranges::any_of(
        info.deliveries, [](auto& delivery) { return delivery.waiting == Waiting::categorizer; });
    entry.queue = info.held ? "hold" : info.active ? "active" : fresh ? "incoming" : "deferred";
    entry.queue_id = info.id.text();
    entry.arrived = std::chrono::duration_cast<std::chrono::seconds>(info.arrival.time_since_epoch()).count();
    entry.size = info.size;
    const auto& sender = state.envelope.reverse_path;
    entry.sender = sender.empty() ? "MAILER-DAEMON" : sender;
    // What its queue or link waits for now says more than what its own last try met, and that more than a wait of ours.
    std::vector<const decide::queue::DeliveryInfo*> deliveries(state.recipients.size());
    for (const auto& delivery : info.deliveries) {
        if (delivery.recipients.empty()) std::ranges::fill(deliveries, &delivery);
        for (const auto number : delivery.recipients)
            if (number < deliveries.size()) deliveries[number] = &delivery;
    }
    const auto reason_of = [&](std::uint32_t number) -> const std::string& {
        const auto* delivery = deliveries[number];
        const auto& own = state.recipients[number].reply.text;
        if (delivery == nullptr) return own;
        if (!delivery->reason.text.empty()) return delivery->reason.text;
        return own.empty() && entry.queue != "active" ? delivery->waits_for : own;
    };
    for (std::uint32_t number = 0; number < state.recipients.size(); ++number) {
        const auto& recipient = state.recipients[number];
        if (recipient.accounted_for()) continue;
        entry.recipients.push_back({.address = recipient.address, .reason = reason_of(number)});
    }
    return entry;
}

// One connected reader. Shared with the job that reads files for it: the client may hang up meanwhile.
class Listing::Client : public std::enable_shared_from_this<Client> {
public:
    Client(Listing& listing, common::Fd fd) : listing_(listing), fd_(std::move(fd)) {
        proto::showq::append_start(out_);
    }

    bool start() {
        poll_ = common::make_poll(listing_.loop_.uv(), this, fd_.number());
        if (!poll_) return false;
        pump();
        return true;
    }
    void detach() { poll_.reset(); }

private:
    // Write what there is; then fetch more; then end.
    void pump() {
        while (sent_ < out_.size()) {
            const auto n = ::send(fd_.number(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_for_room();
            if (n <= 0) return end();
            sent_ += static_cast<std::size_t>(n);
        }
        uv_poll_stop(poll_.get());
        out_.clear();
        sent_ = 0;
        if (ended_) return end();
        fetch();
    }

    void wait_for_room() {
        uv_poll_start(poll_.get(), UV_WRITABLE, [](uv_poll_t* poll, int, int) {
            if (auto* self = common::owner_of<Client>(poll)) self->pump();
        });
    }

    void fetch() {
        std::vector<MessageInfo> infos;
        while (infos.size() < batch) {
            auto info = listing_.next_(cursor_);
            if (info) infos.push_back(*std::move(info));
            if (cursor_ == 0) {
                ended_ = true;
                break;
            }
        }
        auto& pool = listing_.pool_;
        pool.post([&pool, infos = std::move(infos), self = shared_from_this()]() mutable {
            std::string text;
            for (const auto& info : infos) {
                auto reader =
                    spool::MessageReader::open(pool.disk(), info.id, info.location, spool::ReadLock::none);
                if (reader) proto::showq::append(entry_of(info, reader->state()), text); // else it has just gone
            }
            pool.complete([text = std::move(text), self = std::move(self)]() mutable {
                if (self->poll_) self->fetched(std::move(text));
            });
        });
    }

    void fetched(std::string text) {
        out_ = std::move(text);
        if (ended_) proto::showq::append_end(out_);
        pump();
    }

    void end() {
        poll_.reset();
        listing_.clients_.remove_if([this](auto& each) { return each.get() == this; });
    }

    Listing& listing_;
    common::Fd fd_;
    common::Handle<uv_poll_t> poll_;
    std::string out_;
    std::size_t sent_ = 0;
    std::uint32_t cursor_ = 0;
    bool ended_ = false;
};

Listing::Listing(common::Loop& loop, common::Log& log, spool::CommitPool& pool, common::Fd fd, Next next)
    : loop_(loop), log_(log), pool_(pool), next_(std::move(next)), fd_(std::move(fd)),
      pause_(loop, [this] { listen(); }) {
    if (!fd_) return;
    poll_ = common::make_poll(loop.uv(), this, fd_.number());
    listen();
}

void Listing::listen() {
    uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        if (auto* self = common::owner_of<Listing>(poll)) self->accept();
    });
}

Listing::~Listing() {
    for (auto& client : clients_) client->detach();
}

void Listing::accept() {
    common::Fd fd(::accept4(fd_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        log_.warning("showq: accept: {}: trying again in a second", std::strerror(errno));
        uv_poll_stop(poll_.get());
        pause_.start(std::chrono::seconds(1));
    }
    if (!fd) return;
    if (clients_.size() >= max_clients) {
        log_.warning("showq: {} listings at a time are enough: one more client was turned away", max_clients);
        return;
    }
    clients_.push_back(std::make_shared<Client>(*this, std::move(fd)));
    auto client = clients_.back();
    if (serving_ && !client->start()) clients_.remove(client);
}

void Listing::serve() {
    serving_ = true;
    for (auto& client : std::list(clients_))
        if (!client->start()) clients_.remove(client);
}

} // namespace queue_manager
