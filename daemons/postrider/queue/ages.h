// How old the mail in the queue is, domain by domain: counts in brackets of age that double, as Postfix's qshape(1)
// prints them. Pure: knows neither queue nor clock.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

class AgeTable {
public:
    static constexpr std::array minutes = {5, 10, 20, 40, 80, 160, 320, 640, 1280}; // younger than; then the rest
    struct Row {
        std::string domain;
        std::int64_t total = 0;
        std::array<std::int64_t, minutes.size() + 1> counts{};
    };

    // "ann@example.org" counts for example.org, "" for MAILER-DAEMON; domains know no case.
    void add(std::string_view address, std::int64_t age_seconds);
    // The fullest first; of equals the shortest name.
    std::vector<Row> rows() const;
    // 80 columns where names are short enough; a name that is longer than its column loses its beginning to a "+". At
    // most `limit` domains behind the sum of all.
    std::string text(std::size_t limit) const;

private:
    std::map<std::string, Row, std::less<>> rows_;
    Row sum_{.domain = "TOTAL"};
};

} // namespace postrider
