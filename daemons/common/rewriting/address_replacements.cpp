#include "daemons/common/rewriting/address_replacements.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

static constexpr std::size_t most_unreplaced = 20; // warnings
static constexpr std::size_t most_under_way = 64;

AddressReplacements::AddressReplacements(AwaitedTables& tables, const decide::RewritingSettings& settings, bool unicode,
                                         std::function<void()> wake)
    : tables_(tables), settings_(settings), unicode_(unicode), wake_(std::move(wake)),
      waiter_(tables, [this](const decide::LookupRequest& request) { answered(request); }) {}

std::size_t AddressReplacements::number_of(const List& tables, const List& then) {
    const auto known = std::ranges::find(lists_, std::pair(tables, then));
    const auto number = static_cast<std::size_t>(known - lists_.begin());
    if (known == lists_.end()) lists_.emplace_back(tables, then);
    return number;
}

AddressReplacements::State AddressReplacements::look_up() {
    if (pending_.empty() && !open_.empty()) begin();
    if (!why_.empty()) {
        open_.clear(), pending_.clear(), to_ask_.clear(); // no answer is needed now
        return State::failed;
    }
    while (!to_ask_.empty() && under_way_ < most_under_way) {
        const auto need = to_ask_.extract(to_ask_.begin());
        ++under_way_;
        tables_.ask(need.value());
    }
    return pending_.empty() ? State::ready : State::waits;
}

// Each answer is taken by itself: there may be thousands.
void AddressReplacements::answered(const decide::LookupRequest& request) {
    const bool waited = !pending_.empty();
    if (!request.key.empty()) {
        settle(request);
    } else {
        for (auto need = pending_.begin(); need != pending_.end();) {
            const auto& each = *need++;
            if (each.name == request.name) settle(each);
        }
    }
    if (waited && (pending_.empty() || !to_ask_.empty())) wake_();
}

void AddressReplacements::settle(const decide::LookupRequest& request) {
    const auto need = pending_.find(request);
    if (need == pending_.end()) return;
    if (!to_ask_.contains(*need)) --under_way_;
    if (memo_.look_up(*need, tables_.lookups()))
        to_ask_.erase(*need), pending_.erase(need);
    else
        to_ask_.insert(*need); // the answer has been dropped meanwhile
}

void AddressReplacements::begin() {
    const auto tables = memo_.layered_over(tables_.lookups());
    decide::Lookups lookups(tables);
    using Status = decide::RewrittenAddress::Status;
    std::erase_if(open_, [&](const Place& place) {
        const auto& [tables_of_place, then] = lists_[place.list];
        auto found = decide::rewritten_address(place.address, "", tables_of_place, settings_, lookups, then);
        if (found.status == Status::pending) return false;
        if (found.status == Status::failed) {
            if (why_.empty()) why_ = std::move(found.why);
            return true;
        }
        if (!found.warning.empty() && warnings_.size() < most_unreplaced &&
            std::ranges::find(warnings_, found.warning) == warnings_.end())
            warnings_.push_back(std::move(found.warning));
        if (found.status == Status::rewritten) replace(place, std::move(found.address));
        return true;
    });
    pending_ = std::move(lookups.unanswered());
    to_ask_ = pending_;
    under_way_ = 0;
}

// A message that was not submitted with SMTPUTF8 must not need it behind this.
void AddressReplacements::replace(const Place& place, std::string other) {
    if (!smtp::is_ascii(other) && !unicode_) {
        const auto domain = other.rfind('@') + 1;
        const auto name = idn::ascii_domain(std::string_view(other).substr(domain));
        other.replace(domain, other.npos, name);
        if (name.empty() || !smtp::is_ascii(other)) {
            if (warnings_.size() < most_unreplaced)
                warnings_.push_back(fmt::format("<{}> is not rewritten: the other address is not ASCII, and the "
                                                "message does not need SMTPUTF8",
                                                smtp::printable(place.address, 200)));
            return;
        }
    }
    if (other != place.address) replaced_.emplace(place, std::move(other));
}

const std::string* AddressReplacements::find(std::size_t list, const std::string& address) const {
    const auto other = replaced_.find({list, address});
    return other == replaced_.end() ? nullptr : &other->second;
}

} // namespace common
