#include "daemons/pickup/pickup.h"
#include "daemons/common/submission/drop_limits.h"

namespace pickup {

using namespace std::chrono_literals;

spool::Result<std::unique_ptr<Pickup>> Pickup::create(common::Surroundings& surroundings,
                                                      common::Orders orders) {
    auto troubles = std::make_unique<common::Troubles>(surroundings.trouble);
    auto intake =
        TRY(common::Intake::open(surroundings.loop, surroundings.log, orders.config.spool,
                                 static_cast<std::uint8_t>(surroundings.instance()), troubles->about("spool"),
                                 surroundings.figures, common::Source::local));
    std::unique_ptr<Pickup> pickup(new Pickup(surroundings, orders.config, std::move(troubles), std::move(intake)));
    pickup->intake_->on_standing([outbox = &pickup->outbox_](const std::string& why) { outbox->say_standing(why); });
    pickup->reconfigure(std::move(orders));
    pickup->drop_.look();
    return pickup;
}

Pickup::Pickup(common::Surroundings& surroundings, const config::Config& config,
               std::unique_ptr<common::Troubles> troubles, std::unique_ptr<common::Intake> intake)
    : troubles_(std::move(troubles)), intake_(std::move(intake)),
      keys_(surroundings.log, intake_->pool(), config, static_cast<std::uint8_t>(surroundings.instance())),
      outbox_(surroundings.loop, surroundings.log, surroundings.run, surroundings.identity),
      service_{surroundings.loop, surroundings.log, std::make_shared<const config::Config>(config),
               *intake_,          outbox_,          keys_,
               {}},
      drop_(service_), stop_check_(surroundings.loop, [this] { check_stopped(); }) {}

void Pickup::reconfigure(common::Orders orders) {
    service_.config = std::make_shared<const config::Config>(orders.config);
    service_.operators = orders.operators;
    service_.advisers = Advisers::of(orders.config, troubles_->anew("advisers"));
    intake_->reconfigure(orders.config.spool);
    keys_.reconfigure(orders.config);
    const auto& spool = orders.config.spool;
    common::DropLimits limits;
    limits.message_size = orders.config.submit.message_size;
    limits.floor = {spool.minimum_free, spool.minimum_free_inodes};
    limits.user_bytes = std::max(orders.config.submit.drop_user_bytes, 2 * limits.message_size);
    limits.user_messages = orders.config.submit.drop_user_messages;
    const auto left = common::publish_drop_limits(spool.directory + "/drop", limits);
    if (!left) service_.log.warning("{}: programs that leave mail there go by earlier limits", left.error().what);
    if (auto fd = orders.take("submit"); fd && !door_)
        door_ = std::make_unique<Door>(service_, std::move(fd));
}

void Pickup::measure(common::Figures& figures) {
    figures.set(common::Family::content_memory, static_cast<std::int64_t>(intake_->memory().held()));
}

void Pickup::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    if (door_) door_->close();
    drop_.close();
    check_stopped();
}

void Pickup::check_stopped() {
    const bool busy = (door_ && door_->visitors() > 0) || drop_.busy() || !service_.under_review.empty() || intake_->outstanding() > 0 ||
                      outbox_.waiting() > 0;
    if (busy) return stop_check_.start(20ms);
    if (auto done = std::exchange(stopped_, nullptr)) done();
}

} // namespace pickup
