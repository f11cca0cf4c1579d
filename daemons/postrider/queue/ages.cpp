// The table, and the command that asks the queue-manager for the messages to count.
#include "daemons/postrider/queue/ages.h"
#include "daemons/common/proto/control.h"
#include "daemons/postrider/command/command.h"
#include "daemons/common/terminal/text.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <ctime>
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
    auto domain = address.empty() ? "MAILER-DAEMON" : smtp::lowered(at == address.npos ? address : address.substr(at + 1));
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

int queue_ages(const Arguments& arguments) {
    const auto selector = parse_selector(arguments.words);
    if (!selector) return usage;
    const auto limit = arguments.number("--limit");
    if (arguments.has("--limit") && limit.value_or(0) == 0) return print_error("--limit needs a number above 0"), usage;
    const bool by_sender = arguments.has("--by-sender");
    AgeTable table;
    const auto now = static_cast<std::int64_t>(std::time(nullptr));
    for (const auto& request : selector->requests({{"op", proto::control::op::messages}})) {
        const int status = ask_queue(arguments, request, [&](const nlohmann::json& message) {
            const auto age = now - number_of(message, "arrival");
            if (by_sender) return table.add(text_of(message, "sender"), age);
            for (const auto& recipient : list_of(message, "recipients")) table.add(text_of(recipient, "address"), age);
        });
        if (status != ok) return status;
    }
    if (!arguments.json) return fmt::print("{}", table.text(limit.value_or(SIZE_MAX))), ok;
    auto rows = table.rows();
    rows.resize(std::min<std::uint64_t>(rows.size(), limit.value_or(rows.size())));
    for (const auto& row : rows) {
        nlohmann::json ages = {{"older", row.counts.back()}};
        for (std::size_t i = 0; i < AgeTable::minutes.size(); ++i)
            ages[std::to_string(AgeTable::minutes[i])] = row.counts[i];
        print_json({{"domain", row.domain}, {"total", row.total}, {"younger_than", std::move(ages)}});
    }
    return ok;
}

} // namespace postrider
