#pragma once
/// A picture of the training curves, as SVG.

#include <filesystem>

#include "train.hpp"

namespace digits {

/// Draws loss and held-out accuracy over the epochs, one rank against several, and writes them to `file`.
/// Throws std::runtime_error that names the file when it cannot be written.
void write_picture(const std::filesystem::path& file, const Outcome& one, const Outcome& several);

}  // namespace digits
