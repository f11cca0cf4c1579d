// "Try to deliver all waiting mail now", as requested with sendmail(1)
// and postqueue(1): everything, one message, or the mail for one site.
#pragma once
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/spool.h"
#include <string>

namespace common {

struct FlushRequest {
    std::string message, site; // a queue id; a domain or an address; both "": everything
    std::string why;           // the command, for who looks later
};

struct FlushResult {
    int status = 0;   // of sysexits.h; EX_DATAERR: there is no such message
    std::string text; // the complaint; "" if it went well: also where nothing waits
                      // for a site, and where a message is held or on its way
};

FlushResult flush_queue(const config::Spool& spool, const config::Mta& mta, const FlushRequest& flush);

} // namespace common
