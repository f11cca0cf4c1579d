#include "daemons/postrider/queue/ages.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::size_t width = 80, least_name = 18; // columns

void count(AgeTable::Row& row, std::size_t bracket) {
    ++row.total;
    ++row.counts[bracket];
}

} // namespace

void AgeTable::add(std::string_view address, std::int64_t age_seconds) {
    const auto bracket = static_cast<std::size_t>(
        std::ranges::find_if(minutes, [&](int limit) { return age_seconds < limit * 60; }) - minutes.begin());
    const auto at = address.rfind('@');
    auto domain =
        address.empty() ? "MAILER-DAEMON" : smtp::lowered(at == address.npos ? address : address.substr(at + 1));
    auto& row = rows_[domain];
    row.domain = std::move(domain);
    count(row, bracket);
    count(sum_, bracket);
}

std::vector<AgeTable::Row> AgeTable::rows() const {
    std::vector<Row> out;
    for (const auto& [domain, row] : rows_) out.push_back(row);
    std::ranges::stable_sort(out, [](const Row& a, const Row& b) {
        return a.total != b.total ? a.total > b.total : a.domain.size() < b.domain.size();
    });
    return out;
}

std::string AgeTable::text(std::size_t limit) const {
    std::vector<std::string> heads = {"T"};
    for (const int each : minutes) heads.push_back(std::to_string(each));
    heads.push_back(heads.back() + "+");
    std::vector<std::size_t> widths;
    std::size_t numbers = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const auto most = std::to_string(i == 0 ? sum_.total : sum_.counts[i - 1]);
        widths.push_back(std::max<std::size_t>(3, std::max(heads[i].size(), most.size()) + 1));
        numbers += widths.back();
    }
    const auto name_width = std::max(least_name, width - std::min(width, numbers));

    std::string out;
    const auto line = [&](const std::string& domain, const std::vector<std::string>& cells) {
        const auto name = domain.size() > name_width ? "+" + domain.substr(domain.size() - name_width + 1) : domain;
        out.append(name_width - name.size(), ' ').append(name);
        for (std::size_t i = 0; i < cells.size(); ++i) out += fmt::format("{:>{}}", cells[i], widths[i]);
        out += '\n';
    };
    const auto row = [&](const Row& each) {
        std::vector<std::string> cells = {std::to_string(each.total)};
        for (const auto n : each.counts) cells.push_back(std::to_string(n));
        line(each.domain, cells);
    };
    line("", heads);
    row(sum_);
    for (const auto& each : rows()) {
        if (limit-- == 0) break;
        row(each);
    }
    return out;
}

} // namespace postrider
