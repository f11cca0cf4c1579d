// Whether a directory is on storage that does not outlive a container: memory, or a layer of its image.
#pragma once
#include <string>
#include <string_view>

namespace postrider {

// "tmpfs", "ramfs" or "overlay"; "": it is on none of these. Of a directory that does not exist yet, what it would be
// created on.
std::string_view volatile_storage_of(const std::string& directory);

} // namespace postrider
