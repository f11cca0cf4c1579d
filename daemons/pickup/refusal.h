// Why a submission is not taken, as sendmail will say it: an exit status of sysexits.h and one line.
#pragma once
#include <cstdint>
#include <string>
#include <sysexits.h>

namespace pickup {

struct Refusal {
    std::uint8_t status = EX_TEMPFAIL;
    std::string text;
};

} // namespace pickup
