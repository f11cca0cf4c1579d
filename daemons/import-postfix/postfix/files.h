// The texts of Postfix's main.cf, master.cf and of tables in postmap(1) format, as values with their line numbers.
// Knows Postfix's syntax and nothing about Postrider; opens no files. Pure.
#pragma once
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::postfix {

// What is wrong with a file, and where.
struct FileError {
    std::string file;
    std::uint32_t line = 0; // from 1; 0: the file as a whole
    std::string message;
    std::string to_string() const; // "main.cf:12: …"
    bool operator==(const FileError&) const = default;
};

template <class T> using Read = std::expected<T, FileError>;

// What a reader accepts; more is a FileError.
inline constexpr std::size_t max_file_size = 8 << 20, max_value_size = 1 << 20, max_lines = 200'000,
                             max_settings = 5'000;

// Lines as Postfix joins them: empty lines and remarks left out, a line that begins with a blank belongs to the line
// before.
struct LogicalLine {
    std::string text; // not empty; begins with no blank
    std::uint32_t line = 0;
};
Read<std::vector<LogicalLine>> logical_lines(std::string_view text, const std::string& file);

// "name = value" of main.cf, or of an -o in master.cf.
struct Setting {
    std::string name, value; // as written, without blanks around them
    std::uint32_t line = 0;
    bool operator==(const Setting&) const = default;
};
// In their order; of two with one name Postfix takes the last.
Read<std::vector<Setting>> read_main(std::string_view text, const std::string& file);

// One line of master.cf.
struct Service {
    std::string name, type;             // "submission", "inet"
    std::string chroot, process_limit;  // as written: "y", "-"
    std::string command;                // "smtpd"
    std::vector<Setting> overrides;     // -o name=value
    std::vector<std::string> arguments; // all others
    std::uint32_t line = 0;

    // What it sets itself; nothing: what main.cf says holds.
    std::optional<std::string_view> own(std::string_view setting) const {
        for (const auto& each : overrides)
            if (each.name == setting) return each.value;
        return {};
    }
};
Read<std::vector<Service>> read_master(std::string_view text, const std::string& file);

// "key value" of a table that postmap(1) reads (colons: "name: value" of aliases(5)). A key in quotation
// marks is given without them. Lines without a value are Faults.
struct Entry {
    std::string key, value;
    std::uint32_t line = 0;
};
Read<std::vector<Entry>> read_table(std::string_view text, const std::string& file);

} // namespace postrider::postfix
