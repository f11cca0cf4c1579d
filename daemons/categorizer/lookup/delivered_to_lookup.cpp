#include "daemons/categorizer/lookup/delivered_to_lookup.h"
#include "daemons/common/delivery/delivered_to.h"
#include "libsmtp/text/text.h"
#include <cerrno>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace categorizer {

using decide::TableAnswer;
using Been = std::set<std::string>;

namespace {

spool::ReadResult<Been> read(spool::Disk& disk, spool::QueueId id, spool::QueueId reused_file) {
    auto message =
        spool::MessageReader::open(disk, id, {spool::Location::incoming, reused_file}, spool::ReadLock::none);
    if (!message) return std::unexpected(message.error());
    return common::delivered_to(*message);
}

// The world's failures pass, a message's own do not.
std::string passing(const spool::ReadError& error) {
    const auto* world = std::get_if<spool::Error>(&error);
    return world && world->code != ENOENT ? world->what : "";
}

} // namespace

void DeliveredToLookup::configure(std::string spool) {
    if (spool != spool_) disk_.reset();
    spool_ = std::move(spool);
}

std::function<TableAnswer(const std::string&)> DeliveredToLookup::of(spool::QueueId id, spool::QueueId reused_file) {
    return [this, id, reused_file, been = std::optional<Been>()](const std::string& address) mutable -> TableAnswer {
        if (!been) {
            if (!disk_) {
                auto disk = spool::RealDisk::open_at(spool_);
                if (!disk) return {TableAnswer::Status::unreadable, "", disk.error().what};
                disk_ = std::move(*disk);
            }
            auto found = read(*disk_, id, reused_file);
            if (!found)
                if (auto why = passing(found.error()); !why.empty())
                    return {TableAnswer::Status::unreadable, "", std::move(why)};
            been = std::move(found).value_or(Been());
        }
        const bool before = been->contains(smtp::lowered(address));
        return {before ? TableAnswer::Status::found : TableAnswer::Status::none, "", ""};
    };
}

} // namespace categorizer
