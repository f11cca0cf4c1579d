// The keys of idempotent submission.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/idempotency_match_words.h"
#include "daemons/common/text/units.h"

namespace config {

using namespace std::chrono_literals;

Section section_for(Idempotency& s) {
    return {
        "idempotency",
        "Idempotent submission: a message with the header field Idempotency-Key is sent once, however often it is "
        "submitted, if it comes from a client that has authenticated or may relay because of its network, or from a "
        "program on this host. The field is removed from the message. If the same submitter uses the same key again, "
        "the reply is the queue id of the first message, and nothing is sent. In mail from other clients the field "
        "has no effect and is not removed.",
        {
            {"enabled", BoolKey{&s.enabled},
             "Whether to support such keys. If false, the field is an ordinary header field.", ""},
            {"match", one_of(s.match, idempotency_matches),
             "What makes a submission a repetition: \"key\": the same key of the same submitter, so that a program may "
             "compose the message again (with another MIME boundary or date) when it retries; \"content\": the same "
             "content as well, and the message is rejected (554 5.6.0) if it differs from the first one. Content "
             "means all of the message except the fields Date, Message-ID and Received, with its sender and "
             "recipients and their options. listen.<name>.idempotency_match overrides this for a listener.",
             ""},
            {"lifetime", DurationKey{&s.lifetime, 1min, 90 * 24h},
             "How long a key is remembered after its message was accepted. It should be longer than the time during "
             "which clients repeat submissions whose result is unknown, and than the time by which they schedule "
             "messages ahead.",
             ""},
            {"maximum_store", SizeKey{&s.max_size, 1 * MiB, 64 * 1024 * MiB},
             "Maximum size of the key store on disk (state/idempotency/ in the spool); a key takes about 400 bytes. "
             "When it is reached, mail with a new key is rejected temporarily (451) until older keys have expired. "
             "Changes take effect at the next start.",
             ""},
        }};
}

} // namespace config
