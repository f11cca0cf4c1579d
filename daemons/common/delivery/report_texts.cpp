#include "daemons/common/delivery/report_texts.h"
#include "daemons/common/runtime/read_file.h"
#include "libsmtp/message/header.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace common {

namespace {

// Nothing: there is no such file, or it cannot be read. If the text is too large, so is the returned beginning.
std::optional<std::string> beginning_of(const std::string& path, std::vector<std::string>& problems) {
    auto text = read_bounded(path, largest_report_text);
    if (text) return *std::move(text);
    if (text.error() == EFBIG) return std::string(largest_report_text + 1, ' ');
    if (text.error() != ENOENT)
        problems.push_back(fmt::format("{}: {}: the built-in text is used", path, std::strerror(text.error())));
    return std::nullopt;
}

// Why it is not usable at all; "" if it is.
std::string_view unusable(std::string_view file) {
    if (file.size() > largest_report_text) return "is larger than 64 KiB";
    if (!smtp::is_utf8_text(file)) return "is not UTF-8";
    if (file.find('\0') != file.npos) return "contains NUL bytes: not a text";
    const auto wording = parse_wording(file);
    if (wording.text.find_first_not_of(" \r\n\t") == std::string::npos) return "contains no text";
    return "";
}

} // namespace

smtp::dsn::Wording parse_wording(std::string_view file) {
    file = smtp::without_byte_order_mark(file);
    const smtp::HeaderBlock block = smtp::scan_header(file);
    if (block.end != smtp::HeaderEnd::blank_line || block.fields.size() != 1 || !block.fields[0].is("Subject"))
        return {"", std::string(file)};
    return {block.fields[0].unfolded(), std::string(file.substr(block.body))};
}

std::string wording_file(smtp::ReportKind kind) { return fmt::format("{}.txt", name_of(kind)); }

std::vector<std::string> problems_of_wording(std::string_view file) {
    std::vector<std::string> out;
    for (std::size_t line = 1; !file.empty(); ++line) {
        auto rest = file.substr(0, file.find('\n'));
        file.remove_prefix(std::min(rest.size() + 1, file.size()));
        for (auto open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
            rest.remove_prefix(open + 1);
            const auto word = rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
            const bool closed = word.size() < rest.size() && rest[word.size()] == '}';
            if (closed && !word.empty() && !smtp::dsn::is_placeholder(word))
                out.push_back(fmt::format("{}: {{{}}} is not a known placeholder and is left unchanged", line, word));
        }
    }
    return out;
}

ReportTexts load_report_texts(const std::string& directory) {
    ReportTexts out;
    if (directory.empty()) return out;
    for (std::size_t n = 0; n < out.wordings.size(); ++n) {
        const auto path = fmt::format("{}/{}", directory, wording_file(static_cast<smtp::ReportKind>(n)));
        const auto text = beginning_of(path, out.problems);
        if (!text) continue;
        if (const auto why = unusable(*text); !why.empty()) {
            out.problems.push_back(fmt::format("{} {}: the built-in text is used", path, why));
            continue;
        }
        for (const auto& problem : problems_of_wording(*text)) out.problems.push_back(path + ":" + problem);
        out.wordings[n] = parse_wording(*text);
    }
    return out;
}

} // namespace common
