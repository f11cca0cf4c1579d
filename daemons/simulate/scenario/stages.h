// The stages of an SMTP conversation as a scenario names them.
#pragma once
#include "daemons/common/config/schema/value_types.h"
#include "libsmtp/delivery/stage.h"

namespace postrider::simulate {

inline constexpr config::EnumValue<smtp::Stage> stages[] = {
    {"connect", smtp::Stage::connect}, {"banner", smtp::Stage::banner}, {"EHLO", smtp::Stage::ehlo},
    {"MAIL", smtp::Stage::mail},       {"RCPT", smtp::Stage::rcpt},     {"DATA", smtp::Stage::data},
    {"END", smtp::Stage::final_dot}};

} // namespace postrider::simulate
