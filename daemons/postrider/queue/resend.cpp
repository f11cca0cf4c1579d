#include "daemons/postrider/queue/resend.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/queue/import_frames.h"
#include "libsmtp/message/address.h"
#include "libspool/disk/real_disk.h"
#include "libspool/format/layout.h"
#include "libspool/message/resend.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace postrider {

namespace {

// Why there is nothing to be sent again, and what to do.
std::string why_not_kept(spool::Disk& disk, const config::History& history, spool::QueueId id) {
    if (spool::MessageReader::open(disk, id, spool::Location::messages, spool::ReadLock::none))
        return fmt::format("{0}: still queued: \"postrider message retry {0}\" tries it now", id.text());
    const auto ask =
        fmt::format("\"postrider history {}\" shows what became of it; its sender has to send it again", id.text());
    if (history.keep_failed == smtp::Duration::zero())
        return fmt::format("{}: its content is not kept, because history.keep_failed is 0; {}", id.text(), ask);
    return fmt::format(
        "{}: its content is not kept: it reached all recipients, or is older than history.keep_failed, or "
        "history.keep_failed_size was exceeded; {}",
        id.text(), ask);
}

class Resending {
public:
    Resending(const Arguments& arguments, const common::EffectiveConfig& config, spool::Disk& disk)
        : arguments_(arguments), config_(config), disk_(disk), to_(arguments.option("--to").value_or("")) {}

    // Returns the exit status.
    int send(spool::QueueId id) const {
        auto reader = spool::MessageReader::open_path(disk_, spool::path_of_failed(id));
        if (!reader && spool::is_gone(reader.error())) return fail(not_found, why_not_kept(disk_, config_.history, id));
        if (!reader) return report_read_error(id.text(), reader.error());
        const auto& state = reader->state();
        const auto now = std::chrono::floor<smtp::Duration>(std::chrono::system_clock::now());
        const auto again =
            to_.empty() ? spool::resend_of(state, id, now) : spool::Resend{spool::resend_to(state, id, now, to_), {}};
        for (const auto& address : again.suppressed)
            print_error(fmt::format("{}: not sent to {}, which is on the suppression list: \"postrider suppress "
                                    "remove\" takes it off, --to {} sends to it",
                                    id.text(), address, address));
        if (again.envelope.recipients.empty())
            return fail(not_found, fmt::format("{}: no recipient to send it to: nothing was sent", id.text()));
        const auto answer =
            submit_copy(config_.spool, config_.mta, *reader, again.envelope, id.text(), "nothing was sent");
        if (!answer) return answer.error();
        report(id, answer->queue_id, again.envelope);
        return ok;
    }

private:
    void report(spool::QueueId id, const std::string& new_id, const spool::Envelope& envelope) const {
        std::vector<std::string> addresses;
        for (const auto& recipient : envelope.recipients) addresses.push_back(recipient.address);
        if (arguments_.json)
            return print_json({{"version", 1}, {"old_id", id.text()}, {"id", new_id}, {"recipients", addresses}});
        fmt::print("{}: sent again as {} to {}: {}\n", id.text(), new_id,
                   count_text(static_cast<std::int64_t>(addresses.size()), "recipient"),
                   truncated(fmt::format("{}", fmt::join(addresses, ", ")), 2000));
    }

    const Arguments& arguments_;
    const common::EffectiveConfig& config_;
    spool::Disk& disk_;
    const std::string to_;
};

} // namespace

int message_resend(const Arguments& arguments) {
    std::vector<spool::QueueId> ids;
    for (const auto& word : arguments.words) {
        const auto id = spool::QueueId::parse(word);
        if (!id) return fail(usage, fmt::format("\"{}\" is not a queue id", word));
        ids.push_back(*id);
    }
    if (const auto to = arguments.option("--to")) {
        const auto mailbox = smtp::Mailbox::parse(*to);
        if (!mailbox || to->find('@') == to->npos)
            return fail(usage, fmt::format("--to \"{}\": expected an address such as ann@example.org", *to));
    }
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto disk = spool::RealDisk::open_at(config->spool.directory);
    if (!disk) return report_read_error(ids.front().text(), disk.error());
    const Resending resending(arguments, *config, **disk);
    int worst = ok;
    for (const auto id : ids)
        if (const int status = resending.send(id); status != ok) worst = std::max(worst, status);
    return worst;
}

} // namespace postrider
