#include "daemons/sendmail/submission_check.h"
#include "daemons/common/submission/control_fields.h"
#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/sender_requests.h"
#include "daemons/decide/message/idempotency.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/control_fields.h"
#include "libsmtp/message/header_scan.h"
#include "libsmtp/message/received.h"
#include "libsmtp/message/submission_fixup.h"
#include <sysexits.h>

namespace sendmail {

using namespace proto::submit;

namespace {

Answer data_error(std::string text) { return {EX_DATAERR, {}, std::move(text)}; }

// Of a list as it was given.
std::optional<Answer> check_list(const std::string& list, const std::string& origin, std::size_t& count) {
    const auto completed = smtp::complete_addresses(list, origin);
    if (!completed.problem.empty()) return data_error("not an address: " + completed.problem);
    for (const auto& each : completed.addresses)
        if (const auto mailbox = smtp::Mailbox::parse(each); !mailbox)
            return data_error("not an address: " + mailbox.error().why);
    count += completed.addresses.size();
    return {};
}

} // namespace

std::optional<Answer> check_submission(const common::EffectiveConfig& config, const Begin& begin,
                                       std::string_view content, smtp::WallTime now) {
    std::size_t senders = 0, recipients = 0;
    if (!begin.sender.empty()) {
        if (auto rejection = check_list(begin.sender, config.mta.origin, senders)) return rejection;
        if (senders != 1) return data_error("the sender is not a valid address");
    }
    for (const auto& each : begin.recipients)
        if (auto rejection = check_list(each.list, config.mta.origin, recipients)) return rejection;

    smtp::SubmissionOptions options;
    options.recipients = begin.from_header ? smtp::RecipientSource::header : smtp::RecipientSource::arguments;
    options.origin = config.mta.origin;
    smtp::SubmissionFixup fixup(options);
    std::string header;
    for (auto rest = content; !rest.empty() && fixup.state() == smtp::SubmissionFixup::State::header;) {
        const auto piece = rest.substr(0, largest_content);
        rest.remove_prefix(piece.size());
        fixup.feed(piece, header);
    }
    if (fixup.state() == smtp::SubmissionFixup::State::header) fixup.finish(header);
    if (fixup.state() == smtp::SubmissionFixup::State::refused) return data_error(fixup.problem());
    for (const auto& each : fixup.recipients())
        if (auto rejection = check_list(each, config.mta.origin, recipients)) return rejection;
    if (recipients == 0) return Answer{EX_USAGE, {}, "no recipients"};
    if (recipients > config.submit.recipients) return data_error("too many recipients");

    smtp::ControlFields control(common::control_fields_of(common::Submitter::trusted, config.idempotency),
                                common::meta_field);
    std::string kept;
    control.feed(begin.requests, kept);
    control.feed(header, kept);
    control.finish(kept);
    smtp::HeaderScan scan;
    scan.feed(kept);
    if (scan.received() >= smtp::max_hops) return data_error("the message is looping"); // one more is added
    spool::Envelope envelope;
    envelope.reverse_path = begin.sender;
    envelope.arrival = now;
    if (auto wrong = common::apply_sender_requests({}, common::Submitter::trusted, control, envelope); !wrong.empty())
        return data_error(std::move(wrong));
    if (config.pools.empty()) return {}; // it may be that the configuration is not for us to read
    if (config.idempotency.enabled)
        if (const auto key = decide::idempotency::key_in(control, common::key_field); !key)
            return data_error(key.error());
    const common::PoolRules pools(config.pools, config.pool_choice, config.local.recipient_delimiter);
    if (auto wrong =
            common::choose_pool(pools, common::Submitter::trusted, control.value(common::pool_field), envelope);
        !wrong.empty())
        return data_error(std::move(wrong));
    return {};
}

} // namespace sendmail
