// Processes, logging and what is left, and the table as a whole.
#include "daemons/common/text/mdoc.h"
#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/setting_map/setting_map_rows.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

using enum Conversion;
using enum IfLost;

// clang-format off
constexpr SettingMapping rest[] = {
    {"syslog_name", "log.name", custom, harmless, "\"$service_name\" and similar names in it have no counterpart."},
    {"syslog_facility", "", none, harmless, "The facility is always \"mail\"."},
    {"maillog_file", "log.file", text, harmless, ""},
    {"maillog_*", "", obsolete, harmless, "Use logrotate(8), followed by postrider logs reopen."},
    {"postlog*", "", obsolete, harmless, "Every daemon writes to the log itself."},
    {"default_process_limit", "", obsolete, harmless, "Each process serves many connections; smtpd.sessions limits them."},
    {"max_idle", "", obsolete, harmless, "Processes run permanently."},
    {"max_use", "", obsolete, harmless, "Processes run permanently."},
    {"ipc_*", "", obsolete, harmless, "[master] configures the supervision of daemons."},
    {"daemon_*", "", obsolete, harmless, "[master] configures the supervision of daemons."},
    {"fork_*", "", obsolete, harmless, "[master] configures the restart of daemons."},
    {"service_throttle_time", "", obsolete, harmless, "[master] configures the restart of daemons."},
    {"trigger_timeout", "", obsolete, harmless, "[master] configures the supervision of daemons."},
    {"application_event_drain_time", "", obsolete, harmless, ""},
    {"master_service_disable", "listen.NAME", custom, unguarded, "Applied to services of type inet."},
    {"cleanup_service_name", "", custom, unguarded, "What a cleanup service of master.cf sets for itself has no counterpart; each such setting is reported."},
    {"*_service_name", "", obsolete, harmless, "Daemons find each other automatically."},
    {"service_name", "", obsolete, harmless, ""},
    {"process_*", "", obsolete, harmless, ""},
    {"mail_name", "", none, harmless, "The name in the greeting is fixed."},
    {"mail_version", "", obsolete, harmless, ""},
    {"mail_release_date", "", obsolete, harmless, ""},
    {"mailq_path", "", obsolete, harmless, "postrider activate links the commands."},
    {"newaliases_path", "", obsolete, harmless, "postrider activate links the commands."},
    {"sendmail_path", "", obsolete, harmless, "postrider activate links the commands."},
    {"postmulti_*", "", none, harmless, "Import each instance separately."},
    {"alternate_config_directories", "", none, harmless, "Users may use any configuration that they can read: postrider -c FILE."},
    {"debug_peer_*", "", none, harmless, "postrider try shows one session; log.level = \"debug\" applies to all."},
    {"debugger_command", "", obsolete, harmless, "Daemons are never run in a debugger."},
    {"helpful_warnings", "", obsolete, harmless, "This is always done."},
    {"respectful_logging", "", obsolete, harmless, "The log has its own wording."},
    {"info_log_address_format", "", obsolete, harmless, "Addresses are logged in the form used in SMTP."},
    {"delay_logging_resolution_limit", "", obsolete, harmless, "Delays are logged as in Postfix."},
    {"fault_injection_code", "", obsolete, harmless, ""},
    {"enable_idna2003_compatibility", "", obsolete, harmless, "Domains follow IDNA 2008."},
    {"lmtp_*", "", obsolete, harmless, "LMTP is configured like SMTP."},
};
// clang-format on

bool fits(std::string_view pattern, std::string_view name) {
    const auto star = pattern.find('*');
    if (star == pattern.npos) return pattern == name;
    if (!name.starts_with(pattern.substr(0, star))) return false;
    name.remove_prefix(star), pattern.remove_prefix(star + 1);
    for (std::size_t skip = 0; skip <= name.size(); ++skip)
        if (fits(pattern, name.substr(skip))) return true;
    return false;
}

// One sentence to a line, as mandoc likes it, folded.
std::string folded(std::string_view text) {
    std::string out, line;
    while (!text.empty()) {
        const auto space = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, space);
        if (!line.empty() && common::mdoc(line).size() + common::mdoc(word).size() > 78)
            out += common::mdoc(line) + '\n', line.clear();
        line += line.empty() ? "" : " ";
        line += word;
        if (word.ends_with('.') || word.ends_with(".)")) out += common::mdoc(line) + '\n', line.clear();
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return line.empty() ? out : out + common::mdoc(line) + '\n';
}

} // namespace

std::span<const SettingMapping> other_settings() { return rest; }

std::span<const Subject> setting_map() {
    static const Subject subjects[] = {{"Names and domains", names_and_domains()},
                                       {"Tables of addresses", address_tables()},
                                       {"Local delivery", local_delivery()},
                                       {"Receiving", receiving()},
                                       {"Restrictions", restrictions()},
                                       {"Content and filters", content_and_filters()},
                                       {"Sending", sending()},
                                       {"TLS and authentication", security()},
                                       {"The queue and reports", queueing()},
                                       {"Processes and the rest", other_settings()}};
    return subjects;
}

const SettingMapping* mapping_of(std::string_view name) {
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows)
            if (row.name == name) return &row;
    if (!postfix::default_of(name)) return nullptr;
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows)
            if (row.name.find('*') != row.name.npos && fits(row.name, name)) return &row;
    return nullptr;
}

bool SettingMapping::is_equivalent(std::string_view value) const {
    const auto words = postfix::words_of(value), same = postfix::words_of(equivalent);
    return !words.empty() &&
           std::ranges::all_of(words, [&](const auto& word) { return std::ranges::find(same, word) != same.end(); });
}

std::string setting_map_manual() {
    std::string out;
    for (const auto& subject : setting_map()) {
        out += fmt::format(".Ss {}\n.Bl -tag -width Ds\n", subject.title);
        for (const auto& row : subject.rows) {
            out += fmt::format(".It Cm {}\n", common::mdoc(row.name));
            if (!row.key.empty())
                out += fmt::format(".Li {}", common::mdoc(row.key)) + (row.note.empty() ? "\n" : " :\n");
            else if (row.conversion == obsolete)
                out += "Not needed.\n";
            else if (row.conversion == none)
                out += row.if_lost == unguarded ? "No counterpart; listed in [undecided].\n" : "No counterpart.\n";
            out += folded(row.note);
        }
        out += ".El\n";
    }
    return out;
}

} // namespace postrider
