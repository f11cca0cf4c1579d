// Which source addresses rest for which link: a site has refused them, and others of their pool it took. A
// bounded memory; pure: told the time, and told by whoever tried.
#pragma once
#include "libsmtp/time.h"
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace decide {

class Resting {
public:
    static constexpr std::size_t most = 10'000;

    struct Rest {
        std::string source;     // "192.0.2.1"
        smtp::WallTime until{}; // for show
        std::string why;        // what the site said
    };

    // False: it rested already (its time begins anew).
    bool begin(std::string_view link, std::string_view source, smtp::Duration how_long, std::string why,
               smtp::Now now);
    // It was taken after all. False: it did not rest.
    bool end(std::string_view link, std::string_view source);
    // In the order of their names.
    std::vector<Rest> of(std::string_view link, smtp::Now now) const;
    std::size_t size() const { return kept_.size(); }

private:
    struct Kept {
        smtp::Monotonic until{};
        std::string why;
    };
    std::map<std::pair<std::string, std::string>, Kept> kept_; // by link, source
};

} // namespace decide
