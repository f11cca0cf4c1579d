#include "daemons/queue-manager/peers/message_writers.h"
#include "daemons/common/runtime/crash_point.h"
#include "libsmtp/text/text.h"
#include "libspool/message/writers.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace queue_manager {

MessageWriters::MessageWriters(Dependencies dependencies)
    : deps_(std::move(dependencies)), turn_(deps_.loop, [this] { report_files_left(); }) {
    deps_.store.on_file_left(
        [this](std::uint64_t serial, spool::QueueId file, bool reusable) { file_left(serial, file, reusable); });
}

void MessageWriters::attach(ipc::Peer peer, std::unique_ptr<Channel> channel) {
    const auto slot = static_cast<std::uint8_t>(peer.instance);
    auto& writer = writers_[slot];
    if (writer.channel) {
        deps_.scanner.writer_left(slot);
        deps_.store.writer_left(slot, writer.serial);
        deps_.loop.defer([gone = std::shared_ptr<Channel>(std::move(writer.channel))] {});
    }
    writer.left = {};
    writer.named_files = false;
    writer.serial = ++last_;
    writer.role = peer.role;
    writer.obstacle.clear();
    writer.channel = std::move(channel);
    writer.channel->set_callbacks({
        [this, slot](proto::submission::Message&& message) { handle(slot, std::move(message)); },
        [this, slot, serial = writer.serial](const std::string&) {
            if (writers_[slot].serial == serial) detach(slot);
        },
    });
    if (!refusals_.empty()) send_acceptance(writer);
    deps_.scanner.load_writer(slot);
}

void MessageWriters::refuse_mail(Refusal reason, const std::string& why) {
    const auto known = refusals_.find(reason);
    if ((known == refusals_.end() ? "" : known->second) == why) return;
    if (why.empty())
        refusals_.erase(reason);
    else
        refusals_[reason] = why;
    for (auto& [slot, writer] : writers_) send_acceptance(writer);
}

void MessageWriters::send_acceptance(Writer& writer) {
    if (writer.channel && writer.role != proto::Role::bounce)
        static_cast<void>(writer.channel->send(proto::submission::Acceptance{
            refusals_.empty() ? std::string() : refusals_.begin()->second, refusals_.contains(Refusal::drain)}));
}

void MessageWriters::detach(std::uint8_t slot) {
    deps_.scanner.writer_left(slot);
    deps_.store.writer_left(slot, writers_[slot].serial);
    deps_.loop.defer([gone = std::shared_ptr<Channel>(std::move(writers_[slot].channel))] {});
    if (!stopping_) deps_.scanner.load_writer(slot); // what it committed and could not report
}

bool MessageWriters::any() const {
    return std::ranges::any_of(writers_, [](const auto& each) { return each.second.channel != nullptr; });
}

std::string MessageWriters::obstacle() const {
    for (const auto& [slot, writer] : writers_)
        if (writer.channel && !writer.obstacle.empty())
            return fmt::format("{}: {}", proto::name_of(writer.role), writer.obstacle);
    return {};
}

void MessageWriters::handle(std::uint8_t slot, proto::submission::Message&& message) {
    if (auto* announced = std::get_if<proto::submission::Submitted>(&message))
        submitted(slot, *announced);
    else if (auto* files = std::get_if<proto::submission::FilesInUse>(&message))
        files_in_use(slot, *files);
    else if (auto* request = std::get_if<proto::submission::FlushDomain>(&message))
        flush(slot, *request);
    else if (auto* status = std::get_if<proto::submission::WriterStatus>(&message))
        writers_[slot].obstacle = smtp::printable(status->obstacle, 500);
    else if (auto* event = std::get_if<proto::submission::DoorEvent>(&message))
        deps_.events.record(*event);
    else if (auto* lost = std::get_if<proto::submission::DoorEventsLost>(&message))
        deps_.events.record(*lost);
    else
        writers_[slot].channel->fail("unexpected message: expected Submitted, FilesInUse, FlushDomain, WriterStatus, "
                                     "DoorEvent or DoorEventsLost");
}

void MessageWriters::submitted(std::uint8_t slot, const proto::submission::Submitted& message) {
    auto& channel = *writers_[slot].channel;
    if (message.queue_id.slot() != slot)
        return channel.fail("submitted " + message.queue_id.text() + ", which belongs to another writer");
    const spool::QueueId file{message.reused_file};
    if (file != spool::own_file && (!file.valid() || file.slot() != slot))
        return channel.fail("submitted " + message.queue_id.text() + " in the file of another writer");
    CRASH_POINT("queue-manager.submitted");
    channel.send(proto::submission::Taken{message.queue_id});
    const bool found_already = deps_.scanner.found_already(message.queue_id);
    if (file.valid()) {
        if (found_already || message.repeated)
            deps_.store.still_in_use({file}, writers_[slot].serial);
        else
            deps_.store.occupies(message.queue_id, file, writers_[slot].serial);
    }
    // One that is finished stays until the journal has it: its file is not to be read again.
    if (found_already || deps_.scanner.is_finished(message.queue_id)) return;
    const auto origin = message.repeated ? decide::queue::Origin::recovered : decide::queue::Origin::submitted;
    if (auto envelope = spool::decode(message.envelope);
        envelope && !envelope->recipients.empty() && !message.repeated &&
        spool::violates_writer_rights(*envelope, slot).empty()) // else the file is read, and then rejected
        deps_.intake.accept(message.queue_id, spool::Location::incoming, message.size,
                            spool::MessageState(*std::move(envelope)), origin);
    else
        deps_.intake.read(message.queue_id, origin);
}

void MessageWriters::files_in_use(std::uint8_t slot, const proto::submission::FilesInUse& message) {
    auto& writer = writers_[slot];
    if (std::exchange(writer.named_files, true)) return writer.channel->fail("named its files a second time");
    if (std::ranges::any_of(message.files, [&](spool::QueueId file) { return file.slot() != slot; }))
        return writer.channel->fail("named a file of another writer");
    deps_.store.still_in_use(message.files, writer.serial);
}

void MessageWriters::file_left(spool::OccupiedFiles::Writer serial, spool::QueueId file, bool reusable) {
    const auto writer = writers_.find(file.slot());
    if (writer == writers_.end() || writer->second.serial != serial || !writer->second.channel) return;
    auto& left = writer->second.left;
    (reusable ? left.reusable : left.kept).push_back(file);
    turn_.schedule();
}

void MessageWriters::report_files_left() {
    for (auto& [slot, writer] : writers_) {
        const auto left = std::exchange(writer.left, {});
        if (!writer.channel || (left.reusable.empty() && left.kept.empty())) continue;
        static_cast<void>(writer.channel->send(left)); // ids only: never too long
    }
}

// ETRN. A client cannot start mail that an operator has paused; nor does it learn who paused it, and why.
void MessageWriters::flush(std::uint8_t slot, const proto::submission::FlushDomain& request) {
    using decide::queue::Scope;
    proto::submission::DomainFlushed answer;
    answer.request = request.request;
    answer.loading = deps_.scanner.loading();
    const auto below = "." + request.domain;
    const auto now = common::Loop::now();
    const auto& engine = deps_.driver.engine();
    const auto links = engine.links(now);
    const auto paused = [&](const decide::queue::QueueInfo& queue) {
        const auto link = std::ranges::find(links, queue.link, &decide::queue::LinkInfo::name);
        return queue.paused || (link != links.end() && link->paused);
    };
    if (!deps_.delivering()) answer.obstacle = "no mail is sent at the moment";
    for (const auto& queue : engine.queues(now)) {
        if (!answer.obstacle.empty()) break;
        if (queue.name != request.domain && !(request.with_subdomains && queue.name.ends_with(below))) continue;
        if (paused(queue)) {
            answer.obstacle = "mail for " + queue.name + " is held back";
            break;
        }
        answer.deliveries += queue.deliveries;
        deps_.driver.tell([&](auto& to, smtp::Now at, auto& out) { to.force(Scope::queue, queue.name, at, out); });
    }
    static_cast<void>(writers_[slot].channel->send(answer)); // its one text names a domain
}

} // namespace queue_manager
