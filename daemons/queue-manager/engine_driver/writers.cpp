// Those who write messages into the spool and tell of them: smtpd, pickup, bounce.
#include "daemons/common/runtime/crash_point.h"
#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include "libsmtp/text/text.h"
#include "libspool/message/writers.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

void QueueManager::attach_writer(ipc::Peer peer,
                                 std::unique_ptr<ipc::Channel<proto::submission::Message>> channel) {
    const auto slot = static_cast<std::uint8_t>(peer.instance);
    auto& writer = writers_[slot];
    if (writer.channel) {
        scanner_.writer_left(slot);
        context_.loop.defer(
            [gone = std::shared_ptr<ipc::Channel<proto::submission::Message>>(std::move(writer.channel))] {});
    }
    writer.serial = ++last_writer_;
    writer.role = peer.role;
    writer.obstacle.clear();
    writer.channel = std::move(channel);
    writer.channel->set_callbacks({
        [this, slot](proto::submission::Message&& message) {
            if (auto* submitted_now = std::get_if<proto::submission::Submitted>(&message))
                submitted(slot, *submitted_now);
            else if (auto* wish = std::get_if<proto::submission::FlushDomain>(&message))
                try_now(slot, *wish);
            else if (auto* standing = std::get_if<proto::submission::WriterStatus>(&message))
                writers_[slot].obstacle = smtp::printable(standing->obstacle, 500);
            else
                writers_[slot].channel->fail("unexpected message: expected Submitted, TryNow or Standing");
        },
        [this, slot, serial = writer.serial](const std::string&) {
            if (writers_[slot].serial == serial) detach_writer(slot);
        },
    });
    scanner_.load_writer(slot);
}

void QueueManager::detach_writer(std::uint8_t slot) {
    scanner_.writer_left(slot);
    context_.loop.defer([gone = std::shared_ptr<ipc::Channel<proto::submission::Message>>(
                            std::move(writers_[slot].channel))] {});
    if (!stopping_) scanner_.load_writer(slot); // what it committed and could not announce
}

// Why the one of them that takes no mail does not; "" all take it.
std::string QueueManager::obstacle_of_writers() const {
    for (const auto& [slot, writer] : writers_)
        if (writer.channel && !writer.obstacle.empty())
            return fmt::format("{}: {}", proto::name_of(writer.role), writer.obstacle);
    return {};
}

void QueueManager::submitted(std::uint8_t slot, const proto::submission::Submitted& message) {
    auto& channel = *writers_[slot].channel;
    if (message.queue_id.slot() != slot)
        return channel.fail("submitted " + message.queue_id.text() + ", which belongs to another writer");
    CRASH_POINT("queue-manager.submitted");
    channel.send(proto::submission::Taken{message.queue_id});
    if (scanner_.found_already(message.queue_id)) return;
    const auto origin = message.repeated ? decide::queue::Origin::recovered : decide::queue::Origin::submitted;
    if (auto envelope = spool::decode(message.envelope);
        envelope && !envelope->recipients.empty() && !message.repeated &&
        spool::violates_writer_rights(*envelope, slot).empty()) // else the file is to say it, and is refused
        accept(message.queue_id, spool::Location::incoming, message.size,
               spool::MessageState(*std::move(envelope)), origin);
    else
        read_submitted(message.queue_id, origin);
}

// It has been taken over: if its file cannot be read now, it is read again until it can.
void QueueManager::read_submitted(spool::QueueId id, decide::queue::Origin origin) {
    readings_.read(
        id, spool::Location::incoming,
        [this, origin, id](const spool::MessageState& state, std::uint64_t size) {
            accept(id, spool::Location::incoming, size, state, origin);
        },
        [this, origin, id](const MessageLoader::Failure& failure) {
            using How = MessageLoader::Failure::How;
            if (failure.how == How::gone) return; // finished before, by an earlier queue-manager
            if (failure.how == How::damaged)
                return put_in_quarantine(id, "found damaged when it was submitted: " + failure.why);
            schedule_read(id, origin);
        });
}

void QueueManager::schedule_read(spool::QueueId id, decide::queue::Origin origin) {
    unread_.emplace(id, origin);
    if (!unread_retry_.armed()) unread_retry_.start(std::chrono::seconds(5));
}

// ETRN. What the operator has paused a client does not set going; nor is it told who did, and why.
void QueueManager::try_now(std::uint8_t slot, const proto::submission::FlushDomain& message) {
    using decide::queue::Scope;
    proto::submission::DomainFlushed answer;
    answer.request = message.request;
    answer.loading = scanner_.loading();
    const auto below = "." + message.domain;
    const auto now = common::Loop::now();
    const auto links = engine_.links(now);
    const auto paused = [&](const decide::queue::QueueInfo& queue) {
        const auto link = std::ranges::find(links, queue.link, &decide::queue::LinkInfo::name);
        return queue.paused || (link != links.end() && link->paused);
    };
    if (!queue_status().not_delivering.empty()) answer.obstacle = "no mail is sent at the moment";
    for (const auto& queue : engine_.queues(now)) {
        if (!answer.obstacle.empty()) break;
        if (queue.name != message.domain && !(message.with_subdomains && queue.name.ends_with(below))) continue;
        if (paused(queue)) {
            answer.obstacle = "mail for " + queue.name + " is held back";
            break;
        }
        answer.deliveries += queue.deliveries;
        with_engine([&](smtp::Now at, auto& out) { engine_.force(Scope::queue, queue.name, at, out); });
    }
    static_cast<void>(writers_[slot].channel->send(answer)); // its one text names a domain
}

} // namespace queue_manager
