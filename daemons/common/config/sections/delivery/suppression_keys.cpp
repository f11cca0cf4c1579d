// The keys of the suppression list.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/delivery/suppression.h"
#include "daemons/common/config/sections/key_tables.h"

namespace config {

using namespace std::chrono_literals;

Section section_for(Suppression& s) {
    return {"suppression",
            "Recipients to which no mail is sent: the list that \"postrider suppress\" maintains, described in "
            "postrider-suppression(7). The list always exists. These keys control which recipients are added to it "
            "automatically.",
            {
                {"triggers",
                 list_of<decide::SuppressionRule>(
                     s.rules,
                     [](std::string_view text, decide::SuppressionRule& rule) -> Refusal {
                         const auto read = decide::SuppressionRule::parse(text);
                         if (!read)
                             return fmt::format("\"{}\" is not a permanent rejection: expected one such as "
                                                "\"5.1.1\", \"5.1.*\", \"550\" or \"550 5.1.1\"",
                                                text);
                         rule = *read;
                         return std::nullopt;
                     }),
                 "Rejections that add the recipient to the list: an enhanced status, in which * stands for any "
                 "number, or a reply code, or both. Only a reply of another system's server about this one recipient "
                 "counts: to RCPT, or to the content of a message without other recipients. Decisions of Postrider "
                 "itself never count. By default, no recipients are added.",
                 "[\"5.1.1\", \"5.1.6\", \"5.1.10\", \"5.2.1\"]"},
                {"lifetime", DurationKey{&s.lifetime, 1min, 10 * 365 * 24h},
                 "How long an automatic entry lasts. Each new rejection restarts the period.", ""},
            }};
}

} // namespace config
