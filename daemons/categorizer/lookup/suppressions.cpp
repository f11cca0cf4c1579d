#include "daemons/categorizer/lookup/suppressions.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/store/lmdb.h"
#include <cerrno>
#include <utility>

namespace categorizer {

using decide::TableAnswer;
using namespace std::chrono_literals;

namespace {
constexpr auto looked_again = 200ms; // whether it is no longer being examined
} // namespace

void Suppressions::configure(const std::string& spool, const std::vector<std::string>& local_domains) {
    spool_ = spool;
    local_domains_ = local_domains;
}

std::function<TableAnswer(const std::string& address)> Suppressions::for_mail(decide::SuppressionSubject message) {
    if (!any_) return {};
    return [this, message = std::move(message)](const std::string& address) { return find(address, message); };
}

TableAnswer Suppressions::find(const std::string& address, const decide::SuppressionSubject& message) {
    if (common::is_own_postmaster(address, local_domains_)) return {};
    if (const auto opened = open(); !opened) {
        if (opened.error().code == ENOENT) return {}; // no address has ever been added
        if (store::is_being_examined(opened.error())) return {TableAnswer::Status::not_yet, "", ""};
        return unreadable(opened.error());
    }
    const auto found = list_->find(address, message, common::Loop::now().wall);
    if (!found) return unreadable(found.error());
    if (std::exchange(in_trouble_, false)) trouble_("");
    if (!*found) return {};
    return {TableAnswer::Status::found, decide::suppression_text(**found), ""};
}

TableAnswer Suppressions::unreadable(const spool::Error& error) {
    if (!std::exchange(in_trouble_, true))
        trouble_("the suppression list cannot be read: " + error.what + ": mail waits");
    return {TableAnswer::Status::unreadable, "", "the suppression list: " + error.what};
}

spool::Result<> Suppressions::open() {
    if (list_) return {};
    list_ = TRY(common::SuppressionList::open(spool_));
    return {};
}

void Suppressions::fetch(const std::string& address) {
    asked_.insert(address);
    if (!again_.armed()) again_.start(looked_again);
}

void Suppressions::look_again() {
    if (const auto opened = open(); !opened && store::is_being_examined(opened.error())) {
        if (!std::exchange(in_trouble_, true))
            trouble_("the suppression list: " + opened.error().what + ": mail waits");
        return again_.start(looked_again);
    }
    for (const auto& address : std::exchange(asked_, {})) known_(address);
}

} // namespace categorizer
