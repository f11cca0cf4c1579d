#include "daemons/smtp-client/message/ruled_header.h"
#include "daemons/common/filters/milter/message.h"
#include "libspool/format/edits.h"
#include <fmt/format.h>

namespace smtp_client {

static constexpr std::size_t longest_ruled_header = 4 * 1024 * 1024;

spool::ReadResult<RuledHeader> ruled_header(spool::MessageReader& message, const common::ContentRules& rules) {
    RuledHeader out;
    if (message.content().body_offset > longest_ruled_header) {
        out.warnings.push_back(
            fmt::format("header checks: not applied: the header has more than {} bytes", longest_ruled_header));
        return out;
    }
    const auto stored = message.read_header(longest_ruled_header);
    if (!stored) return std::unexpected(stored.error());
    const auto block = smtp::scan_header(*stored);
    common::OwnHeaderChecks run(rules);
    std::string text;
    std::size_t kept = 0; // of the stored header, so far
    using Action = common::HeaderChecks::Action;
    for (std::size_t number = 0; number < block.fields.size(); ++number) {
        const auto raw = block.fields[number].raw;
        auto found = run.check(number, raw);
        if (!found) continue;
        const auto at = static_cast<std::size_t>(raw.data() - stored->data());
        const bool adds = found->action == Action::prepend || found->action == Action::replace;
        const auto field = adds ? milter::with_crlf(found->text) + "\r\n" : "";
        if (adds && !spool::is_one_field(field)) {
            out.warnings.push_back("header check: not a header field: " + smtp::printable(found->text, 400));
            continue;
        }
        const bool goes =
            found->action == Action::replace || found->action == Action::ignore || found->action == Action::strip;
        if (adds || goes) {
            text.append(*stored, kept, at - kept).append(field);
            kept = goes ? at + raw.size() : at;
            out.header.emplace();
        }
        if (found->action != Action::ignore && out.findings.size() < common::ContentChecks::most_findings)
            out.findings.push_back({found->action, common::shown_field(raw), std::move(found->text)});
    }
    for (auto& warning : run.take_warnings()) out.warnings.push_back(std::move(warning));
    if (out.header) out.header.emplace(text.append(*stored, kept), stored->size());
    return out;
}

} // namespace smtp_client
