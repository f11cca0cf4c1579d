// Writes one JSON object straight into a buffer, member by member. What says nothing is left out. Names are constants
// that need no escaping; texts may hold any bytes: what is not UTF-8 becomes U+FFFD. Knows JSON; nothing of events.
#pragma once
#include "libsmtp/text/time_types.h"
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace spool::journal {

// "2026-11-26T18:02:03.000001Z"
inline constexpr std::size_t time_size = 27;
void append_time(std::string& out, smtp::WallTime time);
// With its quotation marks. At most `most` bytes of it, cut between characters.
void append_text(std::string& out, std::string_view text, std::size_t most = std::numeric_limits<std::size_t>::max());

class JsonObject {
public:
    // Opens the object; close() ends it. The buffer must outlive it, and nothing else may write to it meanwhile.
    explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
    JsonObject(const JsonObject&) = delete;
    void close() { out_ += '}'; }

    void text(std::string_view name, std::string_view value) {
        if (!value.empty()) text_even_if_empty(name, value);
    }
    void text(std::string_view name, std::string_view value, std::size_t most);
    void text_even_if_empty(std::string_view name, std::string_view value);
    // Of characters that need no escaping: digits, names of ours.
    void word(std::string_view name, std::string_view value);
    void number(std::string_view name, std::integral auto value) {
        if (value != 0) number_even_if_zero(name, value);
    }
    void number_even_if_zero(std::string_view name, std::integral auto value) {
        signed_number(name, static_cast<std::int64_t>(value));
    }
    void flag(std::string_view name, bool value) {
        if (value) word_without_quotes(name, "true");
    }
    void time(std::string_view name, smtp::WallTime value);
    void milliseconds(std::string_view name, smtp::Duration value); // whole ones; nothing if it is negative
    void seconds(std::string_view name, smtp::Duration value);      // with three decimals; 0 if it is negative

    // Members that were encoded before: "a":1,"b":"c".
    void members(std::string_view encoded);

    // A member that is an object, written by `fill(JsonObject&)`; left out if that writes nothing.
    template <class Fill> void object(std::string_view name, Fill&& fill) {
        const auto before = out_.size();
        begin(name);
        JsonObject inside(out_);
        const auto opened = out_.size();
        fill(inside);
        if (out_.size() == opened) return out_.resize(before);
        inside.close();
    }
    // A member that is an array of texts; left out if there are none.
    template <class Texts> void texts(std::string_view name, const Texts& values) {
        const auto before = out_.size();
        begin(name);
        out_ += '[';
        const auto opened = out_.size();
        for (const auto& each : values) {
            if (out_.size() > opened) out_ += ',';
            append_text(out_, each);
        }
        if (out_.size() == opened) return out_.resize(before);
        out_ += ']';
    }

private:
    void begin(std::string_view name);
    void signed_number(std::string_view name, std::int64_t value);
    void word_without_quotes(std::string_view name, std::string_view value);
    std::string& out_;
};

} // namespace spool::journal
