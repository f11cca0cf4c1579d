#include "daemons/queue-manager/requests/control.h"
#include "daemons/common/proto/control.h"
#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>

namespace queue_manager {

namespace op = proto::control::op;
namespace code = proto::control::code;

namespace {

// What http passes on for its clients: an attacker in control of that process cannot do more. `content`: it may be
// read.
bool is_for_http(std::string_view operation, bool content) {
    if (operation == op::content) return content;
    constexpr std::string_view all[] = {
        op::status,   op::links,      op::link,         op::queues,   op::queue,   op::messages,   op::message,
        op::explain,  op::pause,      op::resume,       op::force,    op::hold,    op::release,    op::remove,
        op::expire,   op::restore,    op::reroute,      op::requeue,  op::attempt, op::suppressed, op::suppressions,
        op::suppress, op::unsuppress, op::reprioritise, op::schedule, op::recent};
    return std::ranges::find(all, operation) != std::end(all);
}

} // namespace

Control::Control(const Dependencies& deps, common::Fd fd, common::Operators operators)
    : server_(deps.loop, deps.log, std::move(fd), std::move(operators),
              [this](const Request& request, const nlohmann::json& body) { handle(request, body); }),
      relay_(
          deps.loop, deps.log, [this](const Request& request, const nlohmann::json& body) { handle(request, body); },
          [content = deps.http_content](std::string_view operation) { return is_for_http(operation, content()); }),
      inspector_({.config = deps.config,
                  .engine = deps.driver.engine(),
                  .pool = deps.pool,
                  .suppressions = deps.suppressions,
                  .pauses = deps.pauses,
                  .resting = deps.resting,
                  .recent = deps.recent,
                  .transfers = deps.transfers,
                  .route_query = deps.route_query,
                  .status = deps.status},
                 replies_),
      selection_({.engine = deps.driver.engine(),
                  .pool = deps.pool,
                  .pauses = deps.pauses,
                  .loading = [status = deps.status] { return status().loading; }},
                 replies_),
      lister_(deps.driver.engine(), selection_, replies_), content_(deps.pool, replies_),
      changes_({.log = deps.log,
                .config = deps.config,
                .driver = deps.driver,
                .pool = deps.pool,
                .files = deps.files,
                .intake = deps.intake,
                .stops = deps.stops,
                .selection = selection_,
                .events = deps.events,
                .transfers = deps.transfers},
               replies_),
      pauses_({.log = deps.log,
               .config = deps.config,
               .driver = deps.driver,
               .pool = deps.pool,
               .pauses = deps.pauses,
               .events = deps.system_events},
              replies_),
      restore_({.log = deps.log,
                .pool = deps.pool,
                .files = deps.files,
                .intake = deps.intake,
                .events = deps.events,
                .loading = [status = deps.status] { return status().loading; }},
               replies_),
      suppressions_({.log = deps.log, .config = deps.config, .pool = deps.pool, .suppressions = deps.suppressions},
                    replies_),
      erasures_(deps.log, deps.pool, deps.journal, replies_),
      probes_({.log = deps.log, .pool = deps.pool, .probes = deps.probes, .verification = deps.verification}, replies_),
      drain_({.loop = deps.loop,
              .log = deps.log,
              .is_node = deps.is_node,
              .driver = deps.driver,
              .pool = deps.pool,
              .files = deps.files,
              .intake = deps.intake,
              .selection = selection_,
              .transfers = deps.transfers,
              .problems = deps.problems,
              .refuse_mail = deps.refuse_mail,
              .loading = [status = deps.status] { return status().loading; }},
             replies_) {}

void Control::handle(const Request& request, const nlohmann::json& body) {
    const std::string operation = text_field(body, "op");
    if (look(request, body, operation) || change(request, body, operation)) return;
    replies_.refuse(request, fmt::format("unknown operation \"{}\"", operation), code::bad_request);
}

bool Control::look(const Request& request, const nlohmann::json& body, std::string_view operation) {
    using View = QueueInspector::View;
    if (operation == op::status)
        inspector_.send_status(request);
    else if (operation == op::recent)
        inspector_.send_recent(request);
    else if (operation == op::links)
        inspector_.send_links(request, body);
    else if (operation == op::link)
        inspector_.send_link(request, body);
    else if (operation == op::queues)
        inspector_.send_queues(request, body);
    else if (operation == op::queue)
        inspector_.send_queue(request, text_field(body, "queue"));
    else if (operation == op::messages)
        lister_.send(request, body);
    else if (operation == op::explain && body.contains("address"))
        inspector_.send_routes(request, text_field(body, "address"));
    else if (operation == op::message || operation == op::explain)
        inspector_.send_message(request, body, operation == op::explain ? View::explanation : View::message);
    else if (operation == op::content)
        content_.read(request, body);
    else if (operation == op::suppressions)
        suppressions_.list(request, body);
    else if (operation == op::suppressed)
        suppressions_.check(request, body);
    else if (operation == op::reload_effects)
        inspector_.send_reload_effects(request, body);
    else if (operation == op::drain_status)
        drain_.show(request);
    else if (operation == op::attempt)
        probes_.attempt(request, body);
    else if (operation == op::verify)
        probes_.verify(request, body);
    else
        return false;
    return true;
}

bool Control::change(const Request& request, const nlohmann::json& body, std::string_view operation) {
    if (operation == op::drain)
        drain_.begin(request, body);
    else if (operation == op::drain_cancel)
        drain_.cancel(request);
    else if (operation == op::flush)
        pauses_.force_everything(request);
    else if (operation == op::pause)
        pauses_.change(request, body, PauseRequests::Operation::pause);
    else if (operation == op::resume)
        pauses_.change(request, body, PauseRequests::Operation::resume);
    else if (operation == op::restore)
        restore_.restore(request, body);
    else if (operation == op::forget)
        erasures_.forget(request, body);
    else if (operation == op::end_segment)
        erasures_.end_segment(request);
    else if (operation == op::suppress)
        suppressions_.change(request, body, Suppressions::Operation::put);
    else if (operation == op::unsuppress && body.contains("filter"))
        suppressions_.remove_matching(request, body);
    else if (operation == op::unsuppress)
        suppressions_.change(request, body, Suppressions::Operation::erase);
    else if (operation == op::force && body.contains("scope"))
        pauses_.force(request, body);
    else if (operation == op::force || operation == op::hold || operation == op::release || operation == op::remove ||
             operation == op::expire || operation == op::reroute || operation == op::reprioritise ||
             operation == op::requeue || operation == op::schedule || operation == op::move ||
             operation == op::move_back)
        changes_.change(request, body, std::string(operation));
    else
        return false;
    return true;
}

} // namespace queue_manager
