#include "daemons/postrider/setup/setup_text.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/setup/zone_text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider::setup {

namespace {

constexpr std::size_t longest_text = 1000; // of a finding: others write what it quotes

// Each line of a text as a comment of a zone file.
std::string commented(std::string_view text, std::string_view indent = "") {
    std::string out;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        out += line.empty() ? ";\n" : fmt::format("; {}{}\n", indent, line);
    }
    return out;
}

std::string keys_text(const ZoneFacts& facts) {
    std::string out;
    for (const auto& key : facts.keys)
        out += fmt::format("; DKIM key: {} ({})\n", key.file, key.generated ? "generated" : "existing");
    const auto lines = signing_configuration(facts.domain.domain, facts.keys);
    if (lines.empty()) return out;
    return out +
           zone_comment(fmt::format("Mail is signed when these lines are in {} and \"postrider reload\" has run:",
                                    facts.config_file)) +
           ";\n" + commented(lines, "    ");
}

} // namespace

std::string findings_text(const std::vector<Finding>& findings) {
    std::string out;
    for (const auto& finding : findings) {
        out += fmt::format("{:<4}  {}: {}\n", name_of(finding.grade), finding.subject,
                           truncated(finding.text, longest_text));
        if (!finding.advice.empty()) out += fmt::format("      {}\n", finding.advice);
    }
    return out;
}

std::string signing_configuration(const std::string& domain, const std::vector<DomainKey>& keys) {
    std::string list;
    for (const auto& key : keys) {
        if (key.configured) return "";
        list += fmt::format("{}\"{} {}\"", list.empty() ? "" : ", ", key.record.selector, key.file);
    }
    return fmt::format("[dkim.\"{}\"]\nkeys = [{}]\n", domain, list);
}

std::string zone_text(const ZoneFacts& facts) {
    const auto& domain = facts.domain.domain;
    auto out =
        zone_comment(fmt::format("{} on {}. Everything but the records is a comment.", domain, facts.domain.host)) +
        ";\n" + commented(findings_text(facts.findings)) + ";\n" + keys_text(facts);
    for (const auto& group : facts.groups) {
        if (group.records.empty()) continue;
        out += "\n" + zone_comment(group.purpose);
        for (const auto& record : group.records) out += zone_line(record) + "\n";
    }
    return out +
           fmt::format("\n; The policy for MTA-STS, at https://mta-sts.{}/.well-known/mta-sts.txt:\n;\n", domain) +
           commented(sts_policy(facts.domain), "    ") +
           zone_comment(
               "Its mode may become enforce when TLSRPT reports no failures; the id of its record changes with "
               "it.") +
           fmt::format(";\n; Then: postrider setup {} --check\n", domain);
}

} // namespace postrider::setup
