// What a dry run has selected, for the operation that may follow: the same messages, whatever has changed meanwhile.
// Kept for some minutes, in memory. Knows no clock.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace http {

class Selections {
public:
    static constexpr std::size_t most = 100, most_ids = 10'000; // selections; messages of one
    static constexpr smtp::Duration lifetime = std::chrono::minutes(10);

    struct Selection {
        std::string owner, operation;
        std::vector<std::string> ids;
    };

    // Returns its name. The oldest one makes room.
    std::string keep(Selection selection, smtp::Monotonic now);
    // Of the same owner and operation; once.
    std::optional<std::vector<std::string>> take(const std::string& name, const std::string& owner,
                                                 const std::string& operation, smtp::Monotonic now);

private:
    struct Kept {
        Selection selection;
        smtp::Monotonic since;
    };
    void forget_old(smtp::Monotonic now);
    std::map<std::string, Kept> kept_;
};

} // namespace http
