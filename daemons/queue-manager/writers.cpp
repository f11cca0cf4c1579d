// Those who write messages into the spool and tell of them: smtpd, pickup, bounce.
#include "daemons/common/kill_point.h"
#include "daemons/queue-manager/queue_manager.h"

namespace queue_manager {

void QueueManager::attach_writer(ipc::Peer peer,
                                 std::unique_ptr<ipc::Channel<proto::submission::Message>> channel) {
    const auto slot = static_cast<std::uint8_t>(peer.instance);
    auto& writer = writers_[slot];
    if (writer.channel)
        around_.loop.later(
            [gone = std::shared_ptr<ipc::Channel<proto::submission::Message>>(std::move(writer.channel))] {});
    writer.serial = ++last_writer_;
    writer.channel = std::move(channel);
    writer.channel->set_callbacks({
        [this, slot](proto::submission::Message&& message) {
            if (auto* submitted_now = std::get_if<proto::submission::Submitted>(&message))
                submitted(slot, *submitted_now);
        },
        [this, slot, serial = writer.serial](const std::string&) {
            if (writers_[slot].serial == serial) detach_writer(slot);
        },
    });
    loader_.load_writer(slot);
}

void QueueManager::detach_writer(std::uint8_t slot) {
    around_.loop.later([gone = std::shared_ptr<ipc::Channel<proto::submission::Message>>(
                            std::move(writers_[slot].channel))] {});
    if (!stopping_) loader_.load_writer(slot); // what it committed and could not announce
}

void QueueManager::submitted(std::uint8_t slot, const proto::submission::Submitted& message) {
    auto& channel = *writers_[slot].channel;
    if (message.queue_id.slot() != slot)
        return channel.fail("submitted " + message.queue_id.text() + ", which is another writer's");
    KILL_POINT("queue-manager.submitted");
    if (auto envelope = spool::decode(message.envelope);
        envelope && !envelope->recipients.empty() && !message.repeated)
        accept(message.queue_id, spool::Location::incoming, message.size,
               spool::MessageState(*std::move(envelope)));
    else
        with_file(message.queue_id, spool::Location::incoming,
                  [this, id = message.queue_id](spool::MessageState&& state, std::uint64_t size) {
                      accept(id, spool::Location::incoming, size, state);
                  });
    channel.send(proto::submission::Taken{message.queue_id});
}

} // namespace queue_manager
