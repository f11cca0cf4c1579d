#include "daemons/queue-manager/control/listing.h"
#include "daemons/common/net/local_socket.h"
#include "libspool/message/message_reader.h"
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
    const bool fresh =
        std::ranges::any_of(info.deliveries, [](auto& delivery) { return delivery.waiting == Waiting::categorizer; });
    entry.queue = info.held ? "hold" : info.active ? "active" : fresh ? "incoming" : "deferred";
    entry.queue_id = info.id.text();
    entry.arrived = std::chrono::duration_cast<std::chrono::seconds>(info.arrival.time_since_epoch()).count();
    entry.size = info.size;
    const auto& sender = state.envelope.reverse_path;
    entry.sender = sender.empty() ? "MAILER-DAEMON" : sender;
    // What its queue or link waits for now is more relevant than the result of its own last attempt, and that more than
    // our own wait.
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
        return own.empty() && entry.queue != "active" ? delivery->waiting_for : own;
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
    Client(Listing& listing, common::Fd fd, uid_t uid)
        : listing_(listing), fd_(std::move(fd)), uid_(uid), patience_(listing.loop_, [this] { give_up(); }) {
        proto::showq::append_start(out_);
    }

    uid_t uid() const { return uid_; }
    bool start() {
        poll_ = common::make_poll(listing_.loop_.uv(), this, fd_.number());
        if (!poll_) return false;
        pump();
        return true;
    }
    void detach() {
        poll_.reset();
        patience_.stop();
    }

    // What does not fit is fetched again when its turn comes: for a client that does not read, only its text and its
    // place in the queue are kept.
    void fetch() {
        std::vector<std::pair<MessageInfo, std::uint32_t>> next; // and the place behind it
        std::size_t recipients = 0;
        for (auto cursor = cursor_; next.size() < batch && recipients < batch_recipients;) {
            auto info = listing_.next_(cursor);
            if (info) {
                for (const auto& delivery : info->deliveries) recipients += delivery.recipients.size();
                next.emplace_back(*std::move(info), cursor);
            }
            if (cursor == 0) break;
        }
        ++listing_.gathering_;
        auto& pool = listing_.pool_;
        pool.post([&pool, most = listing_.limits_.text, next = std::move(next), self = shared_from_this()]() mutable {
            std::string text;
            std::uint32_t cursor = 0;
            for (const auto& [info, behind] : next) {
                auto reader = spool::MessageReader::open(pool.disk(), info.id, info.location, spool::ReadLock::none);
                if (reader) proto::showq::append(entry_of(info, reader->state()), text); // else just removed
                cursor = behind;
                if (text.size() >= most) break;
            }
            text.shrink_to_fit();
            pool.complete([text = std::move(text), cursor, self = std::move(self)]() mutable {
                if (self->poll_) self->fetched(std::move(text), cursor);
            });
        });
        fetching_ = true;
    }

private:
    // Writes the pending text; then fetches more, in turn; then ends.
    void pump() {
        while (sent_ < out_.size()) {
            const auto n = ::send(fd_.number(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_for_room();
            if (n <= 0) return end();
            sent_ += static_cast<std::size_t>(n);
            patience_.stop();
        }
        uv_poll_stop(poll_.get());
        forget_text();
        if (ended_) return end();
        listing_.waiting_.push_back(weak_from_this());
        listing_.turn_.schedule();
    }

    void wait_for_room() {
        if (!patience_.armed()) patience_.start(listing_.limits_.patience);
        uv_poll_start(poll_.get(), UV_WRITABLE, [](uv_poll_t* poll, int, int) {
            if (auto* self = common::owner_of<Client>(poll)) self->pump();
        });
    }

    void fetched(std::string text, std::uint32_t cursor) {
        --listing_.gathering_;
        fetching_ = false;
        cursor_ = cursor;
        out_ = std::move(text);
        ended_ = cursor_ == 0;
        if (ended_) proto::showq::append_end(out_);
        listing_.unread_ += out_.size();
        counted_ = out_.size();
        listing_.turn_.schedule();
        pump();
    }

    void forget_text() {
        out_ = {};
        sent_ = 0;
        listing_.unread_ -= std::exchange(counted_, 0);
    }

    void give_up() {
        listing_.log_.warning("showq: a listing for uid={} was ended: the client read nothing for {} s", uid_,
                              std::chrono::duration_cast<std::chrono::seconds>(listing_.limits_.patience).count());
        listing_.loop_.defer([self = shared_from_this()] {}); // its own timer calls
        end();
    }

    void end() {
        detach();
        forget_text();
        if (std::exchange(fetching_, false)) --listing_.gathering_;
        listing_.turn_.schedule();
        listing_.clients_.remove_if([this](auto& each) { return each.get() == this; });
    }

    Listing& listing_;
    common::Fd fd_;
    const uid_t uid_;
    common::Handle<uv_poll_t> poll_;
    common::Timer patience_; // while the client does not read
    std::string out_;
    std::size_t sent_ = 0, counted_ = 0;
    std::uint32_t cursor_ = 0; // of what follows the text
    bool ended_ = false, fetching_ = false;
};

// In the order in which they finished reading.
void Listing::go_on() {
    while (!waiting_.empty() && gathering_ < limits_.gathering && unread_ < limits_.unread) {
        const auto client = waiting_.front().lock();
        waiting_.pop_front();
        if (client && std::ranges::find(clients_, client) != clients_.end()) client->fetch();
    }
}

Listing::Listing(common::Loop& loop, common::Log& log, spool::CommitPool& pool, common::Fd fd, Next next,
                 const Limits& limits)
    : loop_(loop), log_(log), pool_(pool), next_(std::move(next)), fd_(std::move(fd)), limits_(limits),
      pause_(loop, [this] { listen(); }), turn_(loop, [this] { go_on(); }) {
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
        log_.warning("showq: {} listings at a time, the limit: one more client was rejected", max_clients);
        return;
    }
    const auto who = common::peer_credentials(fd.number());
    const auto uid = who ? who->uid : 0;
    const auto same = std::ranges::count_if(clients_, [&](auto& each) { return each->uid() == uid; });
    if (uid != 0 && static_cast<std::size_t>(same) >= limits_.per_user) {
        log_.warning("showq: {} listings at a time for one user, the limit: one more client of uid={} was rejected",
                     limits_.per_user, uid);
        return;
    }
    clients_.push_back(std::make_shared<Client>(*this, std::move(fd), uid));
    auto client = clients_.back();
    if (serving_ && !client->start()) clients_.remove(client);
}

void Listing::serve() {
    serving_ = true;
    for (auto& client : std::list(clients_))
        if (!client->start()) clients_.remove(client);
}

} // namespace queue_manager
