// The name of this system and its users: [mta]. Values.
#pragma once
#include <string>

namespace config {

// Where this system's name comes from.
enum class NameSource { configuration, mailname, system, hostname };

struct Mta {
    std::string hostname; // never empty after parse(): /etc/mailname's or the system's if none is configured
    std::string node;     // this node's name among several; never empty after parse()
    std::string origin;   // completes bare names; never empty after parse()
    NameSource hostname_from = NameSource::configuration; // never hostname
    NameSource origin_from = NameSource::configuration;   // never system
    bool users = true;                                    // false: single-user mode, no process changes its user
    std::string user = "postrider";
    std::string drop_group = "postrider-drop";
    std::string admin_group = "postrider-adm";
};

} // namespace config
