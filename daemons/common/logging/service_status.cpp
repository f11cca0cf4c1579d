#include "daemons/common/logging/service_status.h"
#include <fmt/format.h>

namespace common {

static std::string_view becomes_of_mail(config::OnFailure how) {
    switch (how) {
    case config::OnFailure::accept: return "is accepted without it";
    case config::OnFailure::tempfail: return "is rejected temporarily";
    case config::OnFailure::reject: return "is rejected";
    case config::OnFailure::quarantine: return "is accepted and held";
    }
    return "";
}

void ServiceStatus::answered() const {
    if (report_) report_("");
}

void ServiceStatus::failed(std::string_view why) const {
    if (report_)
        report_(fmt::format("{}: {}; until it answers, mail that it should check {}", what_, why,
                            becomes_of_mail(on_failure_)));
}

} // namespace common
