// The keys of idempotent submission.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/text/units.h"

namespace config {

using namespace std::chrono_literals;

Section section_for(Idempotency& s) {
    return {
        "idempotency",
        "Idempotent submission: a message whose header has a field Idempotency-Key, from a client that has "
        "authenticated or may relay by its network or from a program on this host, is sent once however often it is "
        "submitted. The field is taken out of the message. The same submitter's same key with the same content is "
        "answered with the first one's queue id and nothing is sent; with other content it is refused. Content is what "
        "the message holds but for the fields Date, Message-ID and Received, with its sender and recipients and their "
        "options. In everybody else's mail the field means nothing and stays where it is.",
        {
            {"enabled", BoolKey{&s.enabled}, "Heed such keys. Without it they are ordinary fields of the header.", ""},
            {"life", DurationKey{&s.lifetime, 1min, 90 * 24h},
             "How long a key is remembered, from the acceptance of its message on. Longer than clients repeat what they "
             "are not sure of, and than they schedule ahead.",
             ""},
            {"maximum_store", SizeKey{&s.max_size, 1 * MiB, 64 * 1024 * MiB},
             "What the keys that are remembered may take on the disk (state/idempotency/ in the spool); some 400 bytes "
             "each. When it is reached, mail with a new key is put off (451) until older ones have ended. Counts from the "
             "next start on.",
             ""},
        }};
}

} // namespace config
