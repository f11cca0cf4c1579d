// Messages come in, are categorized, and become deliveries in queues.
#pragma once
#include "daemons/decide/queue/delivery/categorizer_queue.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"
#include <vector>

namespace decide::queue {

class Intake {
public:
    Intake(const Settings& settings, Step& step, Terms& terms, NumberedNames& pools, Messages& messages,
           Deliveries& deliveries, Queues& queues, AgeWatch& ages, CategorizerQueue& categorizer, Reporter& reporter,
           Placement& placement)
        : settings_(settings), step_(step), terms_(terms), pools_(pools), messages_(messages), deliveries_(deliveries),
          queues_(queues), ages_(ages), categorizer_(categorizer), reporter_(reporter), placement_(placement) {}

    bool accepted(const Accepted& event);
    void categorized(const Categorized& event);
    void categorization_failed(spool::QueueId id, const Reason& why);
    void categorizer_gone();

private:
    smtp::Duration lifetime_of(const Accepted& event) const;
    void set_deadline(Slot message, const Accepted& event);
    void place_open(Slot message, const Accepted& event);
    void not_categorized(Slot delivery, const Reason& why); // that is nowhere else now
    void ask_again(Slot delivery);
    void undecided(Slot message, RecipientNumber number, const Reason& reason);
    void sort_recipients(Slot message, Slot first, const Categorized& event);
    void make_deliveries(Slot message, Slot spare);

    const Settings& settings_;
    Step& step_;
    Terms& terms_;
    NumberedNames& pools_;
    Messages& messages_;
    Deliveries& deliveries_;
    Queues& queues_;
    AgeWatch& ages_;
    CategorizerQueue& categorizer_;
    Reporter& reporter_;
    Placement& placement_;

    std::uint64_t overdue_ = 0; // messages that were overdue when they were found
    struct Sorted {             // scratch of categorized()
        Slot queue;
        std::uint16_t sender_group;
        RestoredRecipient restored;
        std::uint32_t key;
        bool needs_suppression_check;
    };
    std::vector<Sorted> sorted_;
};

} // namespace decide::queue
