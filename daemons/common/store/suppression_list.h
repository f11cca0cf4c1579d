// The suppression list for its readers and its keeper: entries of decide::Suppression in a store of
// their own, below the spool. Any number of processes read it, one changes it (the queue-manager,
// on request of others). Reading never waits; writing waits for the disk: not for a loop's thread.
#pragma once
#include "daemons/common/store/store.h"
#include "daemons/common/store/suppression_exchange.h"
#include "daemons/decide/message/suppression.h"
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace common {

// How names are compared throughout.
const decide::NameFolding& name_folding();

// Mail to postmaster must always arrive: <postmaster> and postmaster@ of our own domains are never suppressed (RFC
// 5321, 4.5.1).
bool is_own_postmaster(std::string_view address, const std::vector<std::string>& local_domains);

class SuppressionList {
public:
    // The directory of a spool's list.
    static std::string directory_in(const std::string& spool) { return spool + "/suppression"; }

    explicit SuppressionList(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}
    SuppressionList(const SuppressionList&) = delete;
    SuppressionList& operator=(const SuppressionList&) = delete;

    // Whether changes are kept for other nodes, too. Not while one is made.
    void share(bool shared) { shared_ = shared; }
    SuppressionExchange& exchange() { return exchange_; }
    const SuppressionExchange& exchange() const { return exchange_; }

    // For a reader; never waits: ENOENT as long as no keeper has created the list; store::is_being_examined while the
    // keeper examines it.
    static spool::Result<std::unique_ptr<SuppressionList>> open(const std::string& spool);

    // The entry that covers this recipient of the message.
    spool::Result<std::optional<decide::Suppression>>
    find(std::string_view address, const decide::SuppressionSubject& message, smtp::WallTime now) const;
    // The entry of exactly that name.
    spool::Result<std::optional<decide::Suppression>>
    entry(std::string_view recipient, const decide::SuppressionScope& scope, smtp::WallTime now) const;
    spool::Result<bool> empty(smtp::WallTime now) const;
    // Up to `most`, in the order of recipients, starting after `after` (a key; "": the first), which then is the key of
    // the last one. Fewer than `most`: there are no more.
    spool::Result<std::vector<decide::Suppression>> walk(std::string& after, std::size_t most,
                                                         smtp::WallTime now) const;

    // On stable storage when it returns. Entries replace those of the same name; true for each that is new.
    spool::Result<std::vector<bool>> put(std::span<const decide::Suppression> entries, smtp::WallTime now);
    // True for each that existed.
    spool::Result<std::vector<bool>> erase(std::span<const decide::Suppression> entries, smtp::WallTime now);

    static constexpr std::size_t longest_text = 500; // bytes of a reason or a reply; more is cut

private:
    std::unique_ptr<store::Store> store_;
    SuppressionExchange exchange_{*store_};
    bool shared_ = false;
};

} // namespace common
