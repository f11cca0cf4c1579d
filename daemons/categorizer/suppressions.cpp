#include "daemons/categorizer/suppressions.h"
#include "daemons/common/loop.h"
#include <cerrno>
#include <utility>

namespace categorizer {

using decide::TableAnswer;

void Suppressions::configure(const config::Config& config) {
    spool_ = config.spool.directory;
    local_domains_ = config.local.domains;
}

std::function<TableAnswer(const std::string& address)> Suppressions::for_mail_from(std::string reverse_path) {
    if (!any_) return {};
    return [this, reverse_path = std::move(reverse_path)](const std::string& address) {
        return find(address, reverse_path);
    };
}

TableAnswer Suppressions::find(const std::string& address, const std::string& reverse_path) {
    if (common::is_own_postmaster(address, local_domains_)) return {};
    const auto unreadable = [this](const spool::Error& error) {
        if (!std::exchange(in_trouble_, true)) trouble_("the suppression list cannot be read: " + error.what + ": mail waits");
        return TableAnswer{TableAnswer::Said::unreadable, "", "the suppression list: " + error.what};
    };
    if (!list_) {
        auto opened = common::SuppressionList::open(spool_);
        if (!opened && opened.error().code == ENOENT) return {}; // nobody was ever put there
        if (!opened) return unreadable(opened.error());
        list_ = std::move(*opened);
    }
    const auto found = list_->find(address, reverse_path, common::Loop::now().wall);
    if (!found) return unreadable(found.error());
    if (std::exchange(in_trouble_, false)) trouble_("");
    if (!*found) return {};
    return {TableAnswer::Said::found, decide::told(**found), ""};
}

} // namespace categorizer
