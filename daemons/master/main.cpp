// master -c FILE [--announce N]: started by `postrider run` and `postrider start`.
#include "daemons/master/master.h"
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

int main(int argc, char** argv) {
    master::Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "-c") == 0)
            options.file = argv[i + 1];
        else if (std::strcmp(argv[i], "--announce") == 0)
            options.announce = std::atoi(argv[i + 1]);
        else
            options.file.clear(), argc = 0;
    }
    if (options.file.empty() || argc % 2 == 0) {
        fmt::print(stderr, "usage: master -c FILE [--announce N]; usually started by \"postrider start\"\n");
        return 64;
    }
    return master::run(options);
}
