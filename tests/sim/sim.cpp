// sim [-v] [--month] FIRST-SEED COUNT: so many worlds; the first that goes wrong is named by its seed, and
// ends the run. With --month each lives for thirty days of its own.
#include "tests/sim/world.h"
#include <cstdlib>
#include <cstring>
#include <iostream>

int main(int argc, char** argv) {
    bool verbose = false;
    auto life = sim::Life::hours;
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; ++at) {
        verbose = verbose || std::strcmp(argv[at], "-v") == 0;
        if (std::strcmp(argv[at], "--month") == 0) life = sim::Life::month;
    }
    const std::uint64_t first = argc > at ? std::strtoull(argv[at], nullptr, 10) : 1;
    const std::uint64_t count = argc > at + 1 ? std::strtoull(argv[at + 1], nullptr, 10) : 1;
    std::uint64_t steps = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        sim::World world(seed, verbose ? &std::cerr : nullptr, life);
        const std::string wrong = world.run();
        steps += world.steps();
        if (wrong.empty()) continue;
        std::cout << "seed " << seed << ": " << wrong << "\n  see it: sim -v "
                  << (life == sim::Life::month ? "--month " : "") << seed << " 1\n";
        return 1;
    }
    std::cout << count << " worlds from seed " << first << ", " << steps << " steps: nothing wrong\n";
}
