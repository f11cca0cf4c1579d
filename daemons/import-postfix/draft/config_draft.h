// A postrider.toml being written: sections, keys with their origin, remarks. Knows TOML's form and nothing about what
// keys mean. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

// A TOML text, list or number, as it is written. Texts are UTF-8.
std::string toml(std::string_view text);
std::string toml(const std::vector<std::string>& texts);
inline std::string toml(const char* text) { return toml(std::string_view(text)); }
inline std::string toml(bool flag) { return flag ? "true" : "false"; }
inline std::string toml(std::uint64_t number) { return std::to_string(number); }
// A text from an external source, for use in a comment: one line, no control characters. UTF-8.
std::string comment_text(std::string_view text);

class ConfigDraft {
public:
    struct Key {
        std::string name, value; // "expiry", "\"5d\"" as TOML writes it
        std::string origin;      // the setting it comes from, "maximal_queue_lifetime"; "" none
        std::uint32_t line = 0;  // of text(), once that was made
    };
    struct Section {
        std::string name; // "queue", "route.\"*\""
        std::vector<Key> keys;
    };

    // Sets the key, or replaces its value. `path`: section and key as TOML writes them, "queue.expiry",
    // "route.\"a.b\".tls": names from the site's files go through toml(). `origin` may be any text.
    void set(std::string_view path, std::string value, std::string_view origin = "");
    // The same of a key that is not a bare word: it is quoted.
    void set_quoted(std::string_view section, std::string_view key, std::string value);
    const Key* find(std::string_view path) const; // null: not set
    // The sections in which that key has that value.
    std::vector<std::string> sections_with(std::string_view key, std::string_view value) const;
    // Whose names begin so.
    std::vector<std::string> sections(std::string_view beginning) const;
    bool has_section(std::string_view name) const;
    void remove(std::string_view path); // "listen.smtp.": the whole section
    // The key in that line of the last text(), "queue.expiry"; "listen.smtp." for the heading
    // of a section; "" none.
    std::string key_at_line(std::uint32_t line) const;

    // Remarks before everything, then the sections in the order of the manual.
    std::string text(const std::vector<std::string>& remarks);

private:
    void set(std::string_view section, std::string_view key, std::string value, std::string_view origin);

    std::vector<Section> sections_;
};

} // namespace postrider
