// The lists of restrictions of Postfix's smtpd(8), and the key of [access.NAME] that each becomes. Data.
#pragma once
#include <string_view>

namespace postrider {

struct SmtpdList {
    std::string_view name;
    std::string_view stage; // when a policy server in it is asked
    std::string_view key;   // of an [access.NAME]
};
// With smtpd_delay_reject, as it is by default, the first ones are all judged at RCPT.
inline constexpr SmtpdList smtpd_lists[] = {{"smtpd_client_restrictions", "rcpt", "client"},
                                            {"smtpd_helo_restrictions", "rcpt", "helo"},
                                            {"smtpd_sender_restrictions", "rcpt", "sender"},
                                            {"smtpd_relay_restrictions", "rcpt", "relay"},
                                            {"smtpd_recipient_restrictions", "rcpt", "recipient"},
                                            {"smtpd_data_restrictions", "data", "data"},
                                            {"smtpd_end_of_data_restrictions", "end_of_data", "end_of_data"}};

} // namespace postrider
