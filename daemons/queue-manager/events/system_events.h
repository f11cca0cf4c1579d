// What happens to links, pauses, routes, the configuration and the suppression list, as events of the journal. Knows
// events and their members; decides nothing.
#pragma once
#include "daemons/decide/message/suppression.h"
#include "daemons/decide/queue/actions.h"
#include "daemons/queue-manager/events/recent_changes.h"
#include "daemons/queue-manager/journal/journal.h"
#include <cstdint>
#include <span>
#include <string_view>

namespace queue_manager {

class SystemEvents {
public:
    // Both outlive it.
    SystemEvents(Journal& journal, RecentChanges& recent) : journal_(journal), recent_(recent) {}
    SystemEvents(const SystemEvents&) = delete;

    void link(const decide::queue::NoticeLink& notice);
    void link(const decide::queue::LinkState& state);
    void queue(const decide::queue::NoticeQueue& notice);
    void routes_reset(const decide::queue::NoticeReset& notice);
    enum class Change : std::uint8_t { set, cleared };
    void pause(Change change, std::string_view scope, std::string_view name, std::string_view who,
               std::string_view why);
    void suppression(Change change, std::span<const decide::Suppression> entries);
    void reloaded();

private:
    template <class Notice> void waiting(std::string_view what, std::string_view name, const Notice& notice);

    void changed(std::string_view type, std::string_view name, std::string_view who = {}, std::string_view why = {},
                 std::uint64_t count = 1);

    Journal& journal_;
    RecentChanges& recent_; // has them, too
};

} // namespace queue_manager
