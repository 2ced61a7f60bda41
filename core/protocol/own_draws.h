// Random numbers of a neighbour that runs beside the service that a replay is of.
#pragma once

namespace filibuster {

// The value of kDrawsVariable (draws.h) where they are the program's own.
inline constexpr char kOwnDraws[] = "0";

}  // namespace filibuster
