// Which source addresses rest for which link: a site has refused them, and others of their pool it took. A
// bounded memory; pure: time and results are passed in.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace decide {

class SourceBackoff {
public:
    static constexpr std::size_t max_entries = 10'000;

    // What the site does not take from it.
    enum class Of : std::uint8_t { connections, mail };
    struct Entry {
        std::string source;     // "192.0.2.1"
        smtp::WallTime until{}; // for show
        std::string why;        // what the site said
    };

    // False: it rested already (its time starts again).
    bool begin(std::string_view link, std::string_view source, smtp::Duration how_long, std::string why, smtp::Now now,
               Of of = Of::connections);
    // That was taken after all; mail comes by connections. False: it did not rest, or rests on.
    bool end(std::string_view link, std::string_view source, Of taken);
    // In the order of their names.
    std::vector<Entry> of(std::string_view link, smtp::Now now) const;
    std::size_t size() const { return entries_.size(); }

private:
    struct Record {
        smtp::Monotonic until{};
        std::string why;
        Of of = Of::connections;
    };
    std::map<std::pair<std::string, std::string>, Record> entries_; // by link, source
};

} // namespace decide
