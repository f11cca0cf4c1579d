// What is remembered across a clean restart about links and queues that were not ready, until they are used again.
#pragma once
#include "daemons/decide/queue/listing.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide::queue {

class Snapshots {
public:
    Snapshots(Step& step, const Terms& terms) : step_(step), terms_(terms) {}

    void add(const HealthSnapshot& snapshot);
    // Removes it from here; none: it was ready, or was taken before.
    std::optional<HealthSnapshot> take_link(std::string_view name) { return take(links_, name); }
    std::optional<HealthSnapshot> take_queue(std::string_view name) { return take(queues_, name); }
    std::optional<HealthSnapshot> take_route(std::string_view queue) { return take(routes_, queue); }
    void restore(HealthState& health, const HealthSnapshot& from);

    // Those that have not been used since startup, and still matter.
    void list(std::vector<HealthSnapshot>& out, smtp::Duration retry_interval) const;

private:
    using ByName = std::map<std::string, HealthSnapshot, std::less<>>;
    static std::optional<HealthSnapshot> take(ByName& from, std::string_view name);

    Step& step_;
    const Terms& terms_;
    ByName links_, queues_, routes_;
};

} // namespace decide::queue
