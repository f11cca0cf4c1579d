#include "daemons/import-postfix/postfix/files.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "libsmtp/text/utf8.h"
#include <fmt/format.h>

namespace postrider::postfix {

namespace {

constexpr std::string_view line_blanks = " \t\r\f\v";

std::unexpected<FileError> file_error(const std::string& file, std::uint32_t line, std::string message) {
    return std::unexpected(FileError{file, line, std::move(message)});
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto length = smtp::utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

bool is_name(std::string_view text) {
    for (const unsigned char c : text)
        if (!(std::isalnum(c) || c == '_' || c == '.' || c == '-')) return false;
    return !text.empty() && text.size() <= 200;
}

// "name = value"; the blanks around it are removed.
Read<Setting> setting_of(std::string_view text, const std::string& file, std::uint32_t line) {
    const auto equals = text.find('=');
    const auto name = trimmed(text.substr(0, equals));
    if (equals == text.npos)
        return file_error(file, line, fmt::format("\"{}\": no \"=\" after the name", excerpt(text)));
    if (!is_name(name))
        return file_error(file, line, fmt::format("\"{}\" is not the name of a setting", excerpt(name)));
    return Setting{std::string(name), std::string(trimmed(text.substr(equals + 1))), line};
}

Read<Service> service_of(const LogicalLine& line, const std::string& file) {
    const auto cut = split(line.text, " \t\r");
    if (!cut) return file_error(file, line.line, cut.error());
    const auto& words = *cut;
    if (words.size() < 8)
        return file_error(
            file, line.line,
            fmt::format("a service has at least eight columns (name, type, private, unprivileged, chroot, wakeup, "
                        "process limit, command), this line has {}",
                        words.size()));
    Service out;
    out.name = words[0], out.type = words[1], out.chroot = words[4], out.process_limit = words[6],
    out.command = words[7];
    out.line = line.line;
    for (std::size_t i = 8; i < words.size(); ++i) {
        std::string_view word = words[i];
        // After the first word that is not an option all are the program's own: "argv=/usr/sbin/sendmail -oi".
        if (!word.starts_with("-o") || (!out.arguments.empty() && !out.arguments.back().starts_with('-'))) {
            out.arguments.emplace_back(unbraced(word));
            continue;
        }
        if (word == "-o") {
            if (i + 1 == words.size())
                return file_error(file, line.line, "-o is the last word: name=value is missing after it");
            word = words[++i];
        } else {
            word.remove_prefix(2);
        }
        auto setting = setting_of(unbraced(word), file, line.line);
        if (!setting) return std::unexpected(setting.error());
        out.overrides.push_back(*std::move(setting));
    }
    return out;
}

} // namespace

std::string FileError::to_string() const {
    return line == 0 ? fmt::format("{}: {}", file, message) : fmt::format("{}:{}: {}", file, line, message);
}

Read<std::vector<LogicalLine>> logical_lines(std::string_view text, const std::string& file) {
    if (text.size() > max_file_size)
        return file_error(file, 0, fmt::format("too large: {} bytes, limit {}", text.size(), max_file_size));
    std::vector<LogicalLine> out;
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        auto line = text.substr(at, end - at);
        at = end + 1;
        if (++number > max_lines) return file_error(file, number, fmt::format("too many lines: limit {}", max_lines));
        if (line.find('\0') != line.npos) return file_error(file, number, "contains a NUL byte: not a text file");
        const auto first = line.find_first_not_of(line_blanks);
        if (first == line.npos || line[first] == '#') continue;
        if (!is_utf8(line)) return file_error(file, number, "not UTF-8: convert the file to that encoding");
        line = line.substr(0, line.find_last_not_of('\r') + 1);
        if (first == 0) {
            out.push_back({std::string(line), number});
            continue;
        }
        if (out.empty())
            return file_error(file, number, "the first line begins with a space: there is no line to continue");
        if (out.back().text.size() + line.size() > max_value_size)
            return file_error(file, out.back().line,
                              fmt::format("longer than {} bytes with its continuation lines", max_value_size));
        out.back().text += " ";
        out.back().text += trimmed(line);
    }
    return out;
}

Read<std::vector<Setting>> read_main(std::string_view text, const std::string& file) {
    const auto lines = logical_lines(text, file);
    if (!lines) return std::unexpected(lines.error());
    std::vector<Setting> out;
    for (const auto& line : *lines) {
        auto setting = setting_of(line.text, file, line.line);
        if (!setting) return std::unexpected(setting.error());
        if (out.size() == max_settings)
            return file_error(file, line.line, fmt::format("too many settings: limit {}", max_settings));
        out.push_back(*std::move(setting));
    }
    return out;
}

Read<std::vector<Service>> read_master(std::string_view text, const std::string& file) {
    const auto lines = logical_lines(text, file);
    if (!lines) return std::unexpected(lines.error());
    std::vector<Service> out;
    for (const auto& line : *lines) {
        auto service = service_of(line, file);
        if (!service) return std::unexpected(service.error());
        if (out.size() == max_settings)
            return file_error(file, line.line, fmt::format("too many services: limit {}", max_settings));
        out.push_back(*std::move(service));
    }
    return out;
}

Read<std::vector<Entry>> read_table(std::string_view text, const std::string& file) {
    const auto lines = logical_lines(text, file);
    if (!lines) return std::unexpected(lines.error());
    std::vector<Entry> out;
    for (const auto& line : *lines) {
        const std::string_view whole = line.text;
        bool quoted = false;
        std::size_t end = 0;
        for (; end < whole.size() && (quoted || line_blanks.find(whole[end]) == line_blanks.npos); ++end) {
            if (whole[end] == '\\' && quoted && end + 1 < whole.size())
                ++end;
            else if (whole[end] == '"')
                quoted = !quoted;
        }
        Entry entry{std::string(whole.substr(0, end)), std::string(trimmed(whole.substr(end))), line.line};
        if (entry.value.empty())
            return file_error(file, line.line, fmt::format("\"{}\": the key has no value", excerpt(entry.key)));
        if (entry.key.size() > 1 && entry.key.starts_with('"') && entry.key.ends_with('"'))
            entry.key = entry.key.substr(1, entry.key.size() - 2);
        out.push_back(std::move(entry));
    }
    return out;
}

} // namespace postrider::postfix
