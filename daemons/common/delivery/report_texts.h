// The operator's own texts of reports: failed.txt, delayed.txt … in bounce.templates, read and checked. Used
// by the daemon that writes reports and by the command that checks the configuration. Blocks: reads files.
#pragma once
#include "libsmtp/dsn/dsn.h"
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace common {

using Wordings = std::array<smtp::dsn::Wording, static_cast<std::size_t>(smtp::ReportKind::last_) + 1>;

struct ReportTexts {
    Wordings wordings;                 // by kind; empty: the built-in text
    std::vector<std::string> problems; // one line each: "/etc/…/failed.txt:3: {nonsense} is not a known placeholder …"
};

inline constexpr std::size_t largest_report_text = 64 * 1024;

// `directory` "": all are built in. A text that cannot be used (unreadable, too large, not UTF-8, empty) is a problem,
// and the built-in one is used instead; an unknown placeholder is a problem, and is left unchanged.
ReportTexts load_report_texts(const std::string& directory);

// "Subject: …", an empty line, the text. Without the subject line all of it is text.
smtp::dsn::Wording parse_wording(std::string_view file);
// Its problems, each preceded by the line number: "3: …".
std::vector<std::string> problems_of_wording(std::string_view file);
// "failed.txt", "delayed.txt" …: its name in the directory.
std::string wording_file(smtp::ReportKind kind);

} // namespace common
