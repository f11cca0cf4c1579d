// The keys of the suppression list.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/delivery/suppression.h"
#include "daemons/common/config/sections/key_tables.h"

namespace config {

using namespace std::chrono_literals;

Section section_for(Suppression& s) {
    return {"suppression",
            "Recipients that get no mail: the list that postrider suppress keeps; postrider-suppression(7) tells all about "
            "it. The list is always there. Here is said who is put on it without being asked to.",
            {
                {"on",
                 list_of<decide::SuppressionRule>(
                     s.rules,
                     [](std::string_view text, decide::SuppressionRule& rule) -> std::string {
                         const auto read = decide::SuppressionRule::parse(text);
                         if (!read)
                             return fmt::format("\"{}\" is no permanent refusal: expected \"5.1.1\", \"5.1.*\", \"550\" or "
                                                "\"550 5.1.1\"",
                                                text);
                         rule = *read;
                         return "";
                     }),
                 "Refusals that put the recipient on the list: an enhanced status, in which * stands for any number, or a "
                 "reply code, or both. Only what another system's server says of that recipient counts: to RCPT, or to the "
                 "content of a message for nobody else. What Postrider itself decides never does. By default nobody is put "
                 "there.",
                 "[\"5.1.1\", \"5.1.6\", \"5.1.10\", \"5.2.1\"]"},
                {"for", DurationKey{&s.lifetime, 1min, 10 * 365 * 24h},
                 "So long such an entry stands. Refused anew, it begins anew.", ""},
            }};
}

} // namespace config
