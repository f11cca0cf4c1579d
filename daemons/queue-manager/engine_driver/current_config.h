// The configuration in force. The daemon replaces it at a reload; its parts keep a reference to this, so that
// all of them see the new one at once.
#pragma once

namespace config {
struct Config;
}

namespace queue_manager {

class CurrentConfig {
public:
    // The configuration stays until it is replaced.
    explicit CurrentConfig(const config::Config& config) : config_(&config) {}
    CurrentConfig(const CurrentConfig&) = delete;

    void replace(const config::Config& config) { config_ = &config; }
    const config::Config& operator*() const { return *config_; }
    const config::Config* operator->() const { return config_; }

private:
    const config::Config* config_;
};

} // namespace queue_manager
