#include "daemons/common/logging/service_status.h"
#include <fmt/format.h>

namespace common {

static std::string_view becomes_of_mail(config::OnFailure how) {
    switch (how) {
    case config::OnFailure::accept: return "is taken without it";
    case config::OnFailure::tempfail: return "is put off";
    case config::OnFailure::reject: return "is refused";
    case config::OnFailure::quarantine: return "is taken and held";
    }
    return "";
}

void Availability::answered() const {
    if (tell_) tell_("");
}

void Availability::failed(std::string_view why) const {
    if (tell_) tell_(fmt::format("{}: {}; until it answers, mail it should see {}", what_, why, becomes_of_mail(meanwhile_)));
}

} // namespace common
