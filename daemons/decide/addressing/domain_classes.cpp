#include "daemons/decide/addressing/domain_classes.h"
#include "daemons/decide/rewriting/address_keys.h"
#include <algorithm>
#include <cstddef>
#include <utility>

namespace decide {

using Status = TableAnswer::Status;

namespace {

bool is_literal(std::string_view domain) { return domain.starts_with('['); }

// A sender of mail can write a domain of 127 labels, and each parent is a query: parents have at most this many.
constexpr std::ptrdiff_t most_labels = 8;

// The nearest one first.
std::vector<std::string> keys_of_parents(std::string_view domain, DomainTables::Parents parents) {
    std::vector<std::string> out;
    if (is_literal(domain)) return out;
    const std::size_t dotted = parents == DomainTables::Parents::dotted ? 0 : 1;
    for (auto dot = domain.find('.'); dot != domain.npos && dot + 1 < domain.size(); dot = domain.find('.', dot + 1))
        if (const auto parent = domain.substr(dot + 1); std::ranges::count(parent, '.') < most_labels)
            out.emplace_back(domain.substr(dot + dotted));
    return out;
}

// Looks a domain up in one table after the other. Behind a pending answer the others are asked for as well, so that all
// are fetched at once.
class TableSearch {
public:
    explicit TableSearch(const DomainClasses::LookUp& look_up) : look_up_(look_up) {}

    // True: that is the answer, or the end; see result().
    bool found(const std::string& table, const std::string& key) {
        auto answer = look_up_(table, key);
        if (answer.status == Status::not_yet) {
            pending_ = true;
            return false;
        }
        if (answer.status == Status::none) return false;
        if (answer.status == Status::unreadable) failure_ = std::move(answer);
        return true;
    }
    bool found(const std::vector<std::string>& tables, const std::string& key) {
        for (const auto& table : tables)
            if (found(table, key)) return true;
        return false;
    }
    bool pending() const { return pending_; }
    template <class T> std::expected<T, TableAnswer> result(T otherwise) {
        if (pending_) return std::unexpected(TableAnswer{Status::not_yet, "", ""});
        if (failure_.status == Status::unreadable) return std::unexpected(std::move(failure_));
        return otherwise;
    }

private:
    const DomainClasses::LookUp& look_up_;
    bool pending_ = false;
    TableAnswer failure_;
};

} // namespace

void DomainClasses::add(std::string_view domain, AddressClass where) {
    if (domain.starts_with('.') && where == AddressClass::relay)
        relayed_below_.emplace(domain);
    else
        names_.try_emplace(std::string(domain), where);
}

bool DomainClasses::below_a_relayed_one(std::string_view domain) const {
    if (relayed_below_.empty() || is_literal(domain)) return false;
    for (auto dot = domain.find('.'); dot != domain.npos; dot = domain.find('.', dot + 1))
        if (relayed_below_.contains(domain.substr(dot))) return true;
    return false;
}

ClassAnswer DomainClasses::find(std::string_view domain, const LookUp& look_up) const {
    using enum AddressClass;
    if (domain.empty()) return remote;
    if (const auto named = names_.find(domain); named != names_.end()) return named->second;
    if (tables_.empty()) return below_a_relayed_one(domain) ? relay : remote;
    const std::string key(domain);
    TableSearch search(look_up);
    if (search.found(tables_.local, key)) return search.result(local);
    if (search.found(tables_.virtual_alias, key)) return search.result(virtual_alias);
    if (search.found(tables_.virtual_mailbox, key)) return search.result(virtual_mailbox);
    if (below_a_relayed_one(domain)) return search.result(relay);
    if (tables_.relay.empty()) return search.result(remote);
    if (search.found(tables_.relay, key)) return search.result(relay);
    if (search.pending()) return search.result(remote); // parents are asked for only if they are needed
    for (const auto& parent : keys_of_parents(domain, tables_.parents))
        for (const auto& table : tables_.relay)
            if (!has_patterns(table) && search.found(table, parent)) return search.result(relay);
    return search.result(remote);
}

LocalAnswer DomainClasses::is_local(std::string_view domain, const LookUp& look_up) const {
    if (domain.empty()) return false;
    if (const auto named = names_.find(domain); named != names_.end()) return named->second == AddressClass::local;
    TableSearch search(look_up);
    return search.result(search.found(tables_.local, std::string(domain)));
}

std::optional<AddressClass> DomainClasses::by_name(std::string_view domain) const {
    const auto answer = find(domain, [](const auto&, const auto&) { return TableAnswer{Status::not_yet, "", ""}; });
    if (answer) return *answer;
    return {};
}

} // namespace decide
